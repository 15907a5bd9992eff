import { HeadgateError } from '../core/errors.js'
import { shown } from '../core/options.js'
import { policyOptionNames } from '../core/policy.js'
import type { GateOptions } from '../http/options.js'
import type { LimitedRequest } from './limit.js'
import { type Class, classMark, type Mark, methodMark, methodsOf, type Said } from './marks.js'

/** How a method is limited: by these options, by the policy of this name, or not at all. */
export type MethodLimit = GateOptions<LimitedRequest, unknown> | string | false

/** How a handler is limited, and by whose word: its own or its class's, which all methods of the class share. */
export interface Placing {
  readonly by: 'method' | 'class'
  readonly limit: Said | false
  /** What the class says, where the method says something of its own. */
  readonly outer?: Said | undefined
}

/** Names of the options that make one or several policies. */
const ruleNames: readonly string[] = [...policyOptionNames, 'limits']

/**
 * How the methods of a controller are limited, by `@Limit`, by name. Methods that take their class's limit have the
 * very same object: give them one limiter.
 * @throws HeadgateError for several limits on one target that cannot be decided together
 */
export function limitsOf<T>(target: Class<T> | (T & object)): { readonly [Method in keyof T]?: MethodLimit } {
  const owner = (typeof target === 'function' ? target : target.constructor) as Class
  const limits = new Map<unknown, unknown>()
  for (const method of methodsOf(owner)) {
    const placing = placingOf(owner, method)
    if (placing === undefined) continue
    const { limit, outer } = placing
    limits.set(method, typeof outer === 'object' && typeof limit === 'object' ? inherit(outer, limit) : limit)
  }
  return Object.fromEntries(limits as Map<string, never>) as never
}

/** How a handler is limited by the marks on it and on its class; undefined where they say nothing. */
export function placingOf(owner: Class, method: string | symbol): Placing | undefined {
  const own = methodMark(owner, method)
  const shared = classMark(owner)
  if (own?.skip === true) return { by: 'method', limit: false }
  const outer = shared && together(shared, owner.name)
  if (own !== undefined && own.limits.length > 0)
    return { by: 'method', limit: together(own, `${owner.name}.${String(method)}`)!, outer }
  if (shared?.skip === true && own?.skip !== false) return { by: 'class', limit: false }
  return outer === undefined ? undefined : { by: 'class', limit: outer }
}

/**
 * `own` with what it leaves out. A rule that names neither its limit nor its window has them, and what belongs to
 * them, from `outer`; one that names both stands alone. Settings are always inherited.
 */
export function inherit(outer: object, own: object): object {
  const { limit, window, limits } = own as Readonly<Record<string, unknown>>
  const isWhole = limits !== undefined || (limit !== undefined && window !== undefined)
  const given = Object.entries(own).filter(([, value]) => value !== undefined)
  const inherited = Object.entries(outer).filter(([name]) => !isWhole || !ruleNames.includes(name))
  return Object.fromEntries([...inherited, ...given])
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
      if (ruleNames.includes(name)) rule[name] = value
      else if (name in settings && !isSame(settings[name], value))
        throw apart(where, `\`${name}\` is ${shown(settings[name])} in one and ${shown(value)} in another.`)
      else settings[name] = value
    }
    return (rule.limits as object[] | undefined) ?? [rule]
  })
  return { ...settings, limits: rules }
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && JSON.stringify(a) === JSON.stringify(b))
}

function apart(where: string, why: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_BAD_OPTION',
    `Several \`@Limit\` on ${where} are decided together, on one key: ${why}`
  )
}
