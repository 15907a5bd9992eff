import { badOption, checkNames, inheritable, type OptionTable, pick } from './options.js'
import { definePolicy, type Policy } from './policy.js'
import { checkUnique, tierName } from './policy-names.js'
import { kindsIn, type PolicyOptions, policyOptions } from './policy-options.js'

/**
 * One policy, or in its place `limits`: several policies on one key, decided together, all or nothing. This is how a
 * limit is written everywhere: in a limiter, a middleware, a plugin, a route, a decorator, a module, a guard.
 */
export type PolicyOrLimits<One, Each = One> =
  | (One & { readonly limits?: undefined })
  | { readonly limits: readonly Each[] }

/** The option that stands in place of one policy; `readLimits` reads it. */
const listOption: OptionTable = { limits: { isRequired: true } }

/** What stands in the place of both where requests are limited: limits by plan, and rules of a file, which `http` reads. */
const requestNames: OptionTable = { plans: {}, plan: {}, defaultPlan: {}, rules: { isRequired: true } }

/** The options that say what the limit is. All others say how it is applied. */
export const limitOptions: OptionTable = { ...policyOptions, ...listOption, ...requestNames }

/** What was written: the policies one by one, and whether they were a list. */
export interface Written<One> {
  readonly tiers: readonly One[]
  readonly isList: boolean
}

/**
 * Takes one policy or `limits` out of options, as they are written, and refuses names that are no option.
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
  checkNames(options, { ...(isList ? listOption : policyOptions), ...settings }, where)
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
    tier.name === undefined && tiers.length > 1 ? { ...tier, name: tierName(tier) } : tier
  )
  const policies = named.map((tier) => definePolicy(tier))
  checkUnique(policies)
  checkOneInFlight(policies)
  checkNobodyHoldsPermits(policies)
  return policies
}

/** All policies of a limiter have one key, so of two that count what is in flight the lower one alone would matter. */
function checkOneInFlight(policies: readonly Policy[]): void {
  const [, second] = policies.filter(({ unit }) => unit === 'concurrent-requests')
  if (second !== undefined)
    throw badOption(
      'concurrency',
      second.limit,
      'one of `limits` counts what is in flight already; keep the lower one'
    )
}

/** A request that is held has no use for its permit, and others do. */
function checkNobodyHoldsPermits(policies: readonly Policy[]): void {
  const slowing = policies.find(({ delay }) => delay !== null)
  if (slowing !== undefined && policies.some(({ unit }) => unit === 'concurrent-requests'))
    throw badOption(
      'delay',
      slowing.delay,
      'it stands beside `concurrency`, whose permits would be taken while nothing is done; give each a limiter of its own, that with `delay` first'
    )
}

/**
 * True if options say what the limit is. Also if the value is undefined or comes from the prototype: a gap in a
 * configuration must not leave everything unprotected.
 */
export function saysLimit(options: object): boolean {
  return Object.keys(limitOptions).some((name) => name in options)
}

/** True for an option that says what the limit is. */
export function isLimitOption(name: string): boolean {
  return Object.hasOwn(limitOptions, name)
}

/**
 * Fills in what `own` leaves out from `outer`. What says the limit itself is inherited only if `own` has no `limits` and
 * lacks `limit` or `window`; all other options are, as `settings` has them.
 */
export function inherit(outer: object, own: object, settings: OptionTable): object {
  const given = Object.entries(own).filter(([, value]) => value !== undefined)
  const inherited = Object.entries(inheritable(outer, own, settings)).filter(([name]) =>
    isInherited(name, own)
  )
  return Object.fromEntries([...inherited, ...given])
}

/** What says a limit goes with what says the same kind of limit, as long as `own` does not say all of it. */
function isInherited(name: string, own: object): boolean {
  const { limit, window, limits, concurrency, plans, rules } = own as Readonly<Record<string, unknown>>
  if (!isLimitOption(name)) return true
  if ([limits, concurrency, plans, rules].some((value) => value !== undefined)) return false
  if (limit !== undefined && window !== undefined) return false
  const kinds = kindsIn(own)
  const [isWindow, isInFlight] = [kinds.window.length > 0, kinds.inFlight.length > 0]
  if (Object.hasOwn(requestNames, name)) return !isWindow && !isInFlight
  const { [isWindow ? 'inFlight' : 'window']: others } = kindsIn({ [name]: true })
  return !(isWindow || isInFlight) || others.length === 0
}
