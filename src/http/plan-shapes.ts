import { durationMs } from '../core/duration.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import { type Policy, withLimit } from '../core/policy.js'
import type { PolicyOptions } from '../core/policy-options.js'
import { definePolicies } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import type { LimiterSettings } from '../limiter/options.js'
import type { ListedRule } from './limit-parts.js'
import { type RuleOptions, type RuleSource, type Rules, ruleSource } from './rules.js'

/** A plan as it was written. */
export interface Plan<Req> {
  readonly name: string
  readonly tiers: readonly ListedRule<Req>[]
}

/** True for what is known for a request alone, or finds itself. */
export function isComputed<Req>({ limit, window, burst, concurrency }: ListedRule<Req>): boolean {
  return [limit, window, burst].some((value) => typeof value === 'function') || isOfItsOwn(concurrency)
}

function isOfItsOwn(concurrency: unknown): boolean {
  return concurrency !== undefined && typeof concurrency !== 'number'
}

/** A limiter for a plan, opened with limits that a limiter can be opened with. */
export function ownRules<Req>(plan: Plan<Req>, settings: LimiterSettings, owner: Owner): RuleSource<Req> {
  const areNamed = plan.tiers.every(({ name }) => name !== undefined)
  const tiers = namedTiers(plan).map((tier) => openable(tier) as RuleOptions<Req>)
  return ruleSource<Req>({ tiers, isList: plan.tiers.length > 1 }, settings, owner, areNamed)
}

/** What the policies of a plan without a name are called: the only one like the plan. */
function namedTiers<Req>({ name, tiers }: Plan<Req>): readonly ListedRule<Req>[] {
  return tiers.length === 1 ? [{ ...tiers[0]!, name: tiers[0]!.name ?? name }] : tiers
}

function openable<Req>(tier: ListedRule<Req>): ListedRule<Req> {
  const { limit, delay } = tier
  const isEndless = limit === Number.POSITIVE_INFINITY && delay === undefined
  return limit === 0 || isEndless ? ({ ...tier, limit: 1, delay: undefined } as ListedRule<Req>) : tier
}

/** The policies of a plan, 0 and `Infinity` among them. */
export function policiesOf<Req>(plan: Plan<Req>): readonly Policy[] {
  const tiers = namedTiers(plan)
  const policies = definePolicies(tiers.map(openable) as PolicyOptions[])
  return policies.map((policy, i) =>
    openable(tiers[i]!) === tiers[i] ? policy : withLimit(policy, tiers[i]!.limit)
  )
}

/** What plans of one shape may differ in. */
const free: readonly string[] = ['name', 'limit', 'burst', 'concurrency', 'delay']

/** True for limits that count alike: then what was counted under the one holds under the other. */
export function isOneShape<Req>(a: readonly ListedRule<Req>[], b: readonly ListedRule<Req>[]): boolean {
  return a.length === b.length && a.every((tier, i) => isSameValue(shapeOf(tier), shapeOf(b[i]!)))
}

function shapeOf<Req>(tier: ListedRule<Req>): object {
  const { window, strategy = 'fixed-window', concurrency } = tier
  const rest = Object.entries(tier).filter(([name, value]) => !free.includes(name) && value !== undefined)
  return { ...Object.fromEntries(rest), strategy, window: lengthOf(window), counts: typeof concurrency }
}

/** A window that is written in two ways is one. */
function lengthOf(window: unknown): unknown {
  try {
    return durationMs('window', window)
  } catch {
    return window
  }
}

function isSameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isSameValue(a[name as never], b[name as never]))
}

/** Rules that hold for every request of a plan. */
export class FixedRules implements RuleSource<unknown> {
  readonly fixed: Rules
  readonly parts = null
  readonly laterBlocks = null

  constructor(limiter: BuiltLimiter, policies: readonly Policy[]) {
    this.fixed = { limiter, policies, parts: null }
  }

  get policies(): readonly Policy[] {
    return this.fixed.policies
  }

  get sample(): BuiltLimiter {
    return this.fixed.limiter
  }

  get limiters(): readonly BuiltLimiter[] {
    return [this.fixed.limiter]
  }

  forRequest(): Rules {
    return this.fixed
  }

  note(): void {}

  lastFor(): Rules {
    return this.fixed
  }

  forget(): void {}
}
