import type { RouteOptions } from 'fastify'
import { isForeignNameOf } from '../core/foreign-names.js'
import { limitOptions } from '../core/policy-or-limits.js'
import { pluginOptions } from './options.js'

const ours = new Set(Object.keys(pluginOptions))
/** True for what other limiters call those. */
const isBorrowed = (name: string) => isForeignNameOf(name, (option) => ours.has(option))

/**
 * The `limit` that a route says; undefined if it says none. The route option is ours, whatever it holds. In a route's
 * `config` users have limits of other kinds, such as the size of a page, so there it must look like one of ours; a text
 * that begins with a digit is one where a policy is called so.
 */
export function limitOf(route: RouteOptions, isPolicy: (name: string) => boolean): unknown {
  if (route.limit !== undefined) return route.limit
  const limit: unknown = (route.config as { limit?: unknown } | undefined)?.limit
  const isMeant = typeof limit === 'string' ? /^\D/.test(limit) || isPolicy(limit) : looksLikeLimit(limit)
  return isMeant ? limit : undefined
}

/** True for `false`, and for options some of which are those of a limit, perhaps under the names of other limiters. */
export function looksLikeLimit(value: unknown): boolean {
  if (value === false) return true
  const names = namesIn(value)
  return names.some((name) => ours.has(name)) || names.filter(isBorrowed).length > 1
}

/** True for what another limiter would take for options. */
export function looksLikeForeignLimit(value: unknown): boolean {
  return value === false || namesIn(value).some((name) => ours.has(name) || isBorrowed(name))
}

function namesIn(value: unknown): readonly string[] {
  return isObject(value) && !Array.isArray(value) ? Object.keys(value) : []
}

/** What tells the limits of two routes apart. How they are applied does not. */
const telling: readonly string[] = [...Object.keys(limitOptions), 'key', 'cost']

/** True for two limits of one rule, in one object or in two. A function is taken for any other in its place. */
export function isSameLimit(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b
  return telling.every((name) => isSameValue(a[name], b[name]))
}

function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b || (typeof a === 'function' && typeof b === 'function')) return true
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isSameValue(a[name], b[name]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
