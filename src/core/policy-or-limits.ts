import { badOption, checkNames, type OptionTable, pick } from './options.js'
import { checkUnique, definePolicy, type Policy, tierName } from './policy.js'
import { type PolicyOptions, policyOptions } from './policy-options.js'

/**
 * One policy, or in its place `limits`: several on one key, decided together, all or nothing. Wherever a limit is set,
 * it is written so: in a limiter, a middleware, a plugin, a route, a decorator, a module, a guard.
 */
export type PolicyOrLimits<One, Each = One> =
  | (One & { readonly limits?: undefined })
  | { readonly limits: readonly Each[] }

/** The options that say what the limit is; all others say how it is applied. */
export const limitOptions = {
  ...policyOptions,
  limits: { isRequired: true, borrowed: ['throttlers', 'tiers'] }
} as const satisfies OptionTable

/** What was written: the policies one by one, and whether they were a list. */
export interface Written<One> {
  readonly tiers: readonly One[]
  readonly isList: boolean
}

/**
 * Reads one policy or `limits` as they are written, and refuses what stands beside them and is no option.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function readLimits<One extends object>(
  options: PolicyOrLimits<One>,
  settings: OptionTable,
  where: string
): Written<One> {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { limit: 100, window: '1m' }")
  const { limits } = options
  const isList = limits !== undefined
  if (isList) checkAlone(options)
  checkNames(options, { ...(isList ? { limits: limitOptions.limits } : policyOptions), ...settings }, where)
  return { tiers: isList ? listOf<One>(limits) : [pick(options, policyOptions) as One], isList }
}

/** Refuses options of one policy beside `limits`. */
function checkAlone(options: object): void {
  for (const [name, value] of Object.entries(pick(options, policyOptions)))
    if (value !== undefined)
      throw badOption(
        name,
        value,
        'it stands beside `limits`: put it inside each of `limits`, or leave `limits` out'
      )
}

function listOf<One>(limits: unknown): readonly One[] {
  if (!Array.isArray(limits) || limits.length === 0)
    throw badOption('limits', limits, "give a list of policies such as [{ limit: 10, window: '1s' }]")
  for (const [i, tier] of limits.entries())
    if (typeof tier !== 'object' || tier === null)
      throw badOption(`limits[${i}]`, tier, "give a policy such as { limit: 10, window: '1s' }")
  return limits
}

/**
 * The policies of one limiter. Of several, those without a name are named after what they allow.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function definePolicies(tiers: readonly PolicyOptions[]): readonly Policy[] {
  const named = tiers.map((tier) =>
    tier.name === undefined && tiers.length > 1 ? { ...tier, name: tierName(tier.limit, tier.window) } : tier
  )
  const policies = named.map((tier) => definePolicy(tier))
  checkUnique(policies)
  return policies
}

/**
 * True where options say what the limit is. Also where they say `undefined`, or have it from their prototype: what a
 * configuration lacks must not leave all unprotected.
 */
export function saysLimit(options: object): boolean {
  return Object.keys(limitOptions).some((name) => name in options)
}

/** True for an option that says what the limit is. */
export function isLimitOption(name: string): boolean {
  return Object.hasOwn(limitOptions, name)
}

/**
 * `own` with what it leaves out. A limit that names neither its `limit` nor its `window` has them, and what belongs to
 * them, from `outer`; one that names both stands alone. All other options are always inherited.
 */
export function inherit(outer: object, own: object): object {
  const { limit, window, limits } = own as Readonly<Record<string, unknown>>
  const isWhole = limits !== undefined || (limit !== undefined && window !== undefined)
  const given = Object.entries(own).filter(([, value]) => value !== undefined)
  const inherited = Object.entries(outer).filter(([name]) => !isWhole || !isLimitOption(name))
  return Object.fromEntries([...inherited, ...given])
}
