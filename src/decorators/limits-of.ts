import { HeadgateError } from '../core/errors.js'
import { shown } from '../core/options.js'
import { inherit, isLimitOption } from '../core/policy-or-limits.js'
import { gateSettings } from '../http/gate-settings.js'
import type { GateOptions } from '../http/options.js'
import type { LimitedRequest } from './limit.js'
import { type Class, classMark, type Mark, methodMark, methodsOf, type Said } from './marks.js'
import { noteReader } from './nest.js'

/** How a method is limited: by these options, by the policy of this name, or not at all. */
export type MethodLimit = GateOptions<LimitedRequest, unknown> | string | false

/** How a handler is limited, and by whose word: its own or its class's, which all methods of the class share. */
export interface Placing {
  readonly by: 'method' | 'class'
  readonly limit: Said | false
  /** What the class says, where the method says something of its own. */
  readonly outer?: Said | undefined
}

/** The names of a class's methods. */
type MethodOf<T> = {
  [Name in keyof T]: T[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof T]

/**
 * How `@Limit` limits the methods of a controller, by name. Methods that take their class's limit share one object; all
 * others have their own. Make one limiter per object, or pass `make`, which is called once for each; then every method
 * has a list with its limiter, or an empty list.
 * @example
 * const limits = limitsOf(Reports, rateLimit)
 * app.get('/reports', ...limits.list, (req, res) => reports.list(req, res))
 * @throws HeadgateError for several limits on one target that cannot be decided together
 */
export function limitsOf<T>(target: Class<T> | (T & object)): { readonly [Name in MethodOf<T>]?: MethodLimit }
export function limitsOf<T, Made>(
  target: Class<T> | (T & object),
  make: (limit: Exclude<MethodLimit, string | false>) => Made
): { readonly [Name in MethodOf<T>]: Made[] }
export function limitsOf(target: Class | object, make?: (limit: never) => unknown): object {
  const owner = classOf(target)
  noteReader(owner)
  const made = new Map<unknown, unknown[]>([[false, []]])
  const listOf = (limit: unknown = false) => {
    const list = made.get(limit) ?? [make!(limit as never)]
    made.set(limit, list)
    return list
  }
  const limits = [...methodsOf(owner)].flatMap((method) => {
    const limit = limitOf(owner, method)
    if (make !== undefined) return [[method, listOf(limit)] as const]
    return limit === undefined ? [] : [[method, limit] as const]
  })
  // Without a prototype, so that no name is found but those of methods.
  return Object.setPrototypeOf(Object.fromEntries(limits as [string, unknown][]), null)
}

/** One's own limit is an object of its own: several methods may have been given one. */
function limitOf(owner: Class, method: string | symbol): Said | false | undefined {
  const placing = placingOf(owner, method)
  if (placing?.by !== 'method' || typeof placing.limit !== 'object') return placing?.limit
  return inherit(typeof placing.outer === 'object' ? placing.outer : {}, placing.limit, gateSettings)
}

function classOf(target: unknown): Class {
  const owner = typeof target === 'object' && target !== null ? target.constructor : target
  if (typeof owner === 'function' && typeof owner.prototype === 'object') return owner as Class
  throw new HeadgateError(
    'HEADGATE_MISUSE',
    `\`limitsOf\` was given ${shown(target)}: give a class, or an instance of one.`
  )
}

/** How a handler is limited by the marks on it and on its class; undefined where they say nothing. */
export function placingOf(owner: Class, method: string | symbol): Placing | undefined {
  const own = methodMark(owner, method)
  const shared = classMark(owner)
  if (own?.skip === true) {
    if (own.limits.length === 0) return { by: 'method', limit: false }
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `${owner.name}.${String(method)} has both \`@Limit.skip()\` and a limit: leave one of them out.`
    )
  }
  const outer = shared && together(shared, owner.name)
  if (own !== undefined && own.limits.length > 0)
    return { by: 'method', limit: together(own, `${owner.name}.${String(method)}`)!, outer }
  if (shared?.skip === true && own?.skip !== false) return { by: 'class', limit: false }
  return outer === undefined ? undefined : { by: 'class', limit: outer }
}

const combined = new WeakMap<Mark, Said>()

/** What the limits of one target come to: the one, or all as tiers. The same object whenever it is asked for. */
function together(mark: Mark, where: string): Said | undefined {
  if (mark.limits.length < 2) return mark.limits[0]
  const known = combined.get(mark)
  if (known !== undefined) return known
  const tiers = tiersOf(mark.limits, where)
  combined.set(mark, tiers)
  return tiers
}

function tiersOf(limits: readonly Said[], where: string): object {
  const settings: Record<string, unknown> = {}
  const rules = limits.flatMap((said) => {
    if (typeof said === 'string')
      throw apart(
        where,
        `the policy '${said}' has a counter of its own; put all limits into one policy's \`limits\`.`
      )
    const rule: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(said)) {
      if (value === undefined) continue
      if (isLimitOption(name)) rule[name] = value
      else if (name in settings && !isSame(settings[name], value))
        throw apart(where, `\`${name}\` is ${shown(settings[name])} in one and ${shown(value)} in another.`)
      else settings[name] = value
    }
    const { limits, ...beside } = rule
    if (limits === undefined) return [rule]
    const [name] = Object.keys(beside)
    if (name !== undefined)
      throw apart(where, `\`${name}\` stands beside \`limits\`; put it into one of them.`)
    return limits as object[]
  })
  return { ...settings, limits: rules }
}

function isSame(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((one, i) => isSame(one, b[i]))
}

function apart(where: string, why: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_BAD_OPTION',
    `Several \`@Limit\` on ${where} are decided together, on one key: ${why}`
  )
}
