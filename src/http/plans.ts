import { HeadgateError } from '../core/errors.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import { badOption, nearest, type OptionTable, shown, type TableOf } from '../core/options.js'
import type { PolicyOrLimits } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import type { LimiterSettings } from '../limiter/options.js'
import { LastRules } from './last-rules.js'
import { groupsOf, jointRules, type ListedRule, type ListTerms } from './limit-parts.js'
import { FixedRules, isComputed, isOneShape, ownRules, type Plan, policiesOf } from './plan-shapes.js'
import { isPromiseLike } from './promise.js'
import type { PartSource, RuleSource, Rules } from './rules.js'

/** Limits by plan: what the customers of an API have bought. */
export interface PlanOptions<Req, Name extends string = string> {
  /** What each plan allows: one policy, or `limits` for several. A limit may be `Infinity`, and 0 denies. */
  readonly plans: { readonly [Plan in Name]: PlanRule<Req> }
  /** Tells the plan of a request by its name; for nothing `defaultPlan` holds. */
  readonly plan: (request: Req) => PlanOf<Name> | PromiseLike<PlanOf<Name>>
  /** The plan of requests of which `plan` tells none. */
  readonly defaultPlan?: Name | undefined
}

/** A plan, or nothing. */
export type PlanOf<Name extends string> = Name | undefined | null

/** What a plan allows. */
export type PlanRule<Req> = PolicyOrLimits<ListedRule<Req>>

/** How those are read: all together, by `planRules`. */
export const planOptions = { plans: {}, plan: {}, defaultPlan: {} } as const satisfies OptionTable &
  TableOf<PlanOptions<never>>

/**
 * The rules of plans. Plans of one shape, which differ in their limits and bursts alone, have one limiter: a key that
 * changes from one to the other keeps what it has used.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function planRules<Req>(
  { plans, plan, defaultPlan }: PlanOptions<Req>,
  settings: LimiterSettings,
  owner: Owner,
  terms: ListTerms<Req>
): RuleSource<Req> {
  if (typeof plan !== 'function')
    throw badOption(
      'plan',
      plan,
      "give a function that tells a request's plan: (request) => request.user.plan"
    )
  const written = readPlans<Req>(plans)
  if (defaultPlan !== undefined && !written.some(({ name }) => name === defaultPlan))
    throw badOption('defaultPlan', defaultPlan, `it is none of \`plans\`; ${hintFor(defaultPlan, written)}`)
  const sources = new Map<string, RuleSource<Req>>()
  const shapes: { readonly of: Plan<Req>; readonly limiter: BuiltLimiter }[] = []
  for (const one of written) {
    const groups = groupsOf(one.tiers)
    if (groups.length > 1 || groups[0]!.key !== undefined || groups[0]!.cost !== undefined)
      sources.set(one.name, jointRules(groups, settings, owner, terms))
    else if (one.tiers.some(isComputed)) sources.set(one.name, ownRules(one, settings, owner))
    else {
      const policies = policiesOf(one)
      const known = shapes.find(({ of }) => isOneShape(of.tiers, one.tiers))
      const limiter = known?.limiter ?? ownRules(one, settings, owner).sample
      if (known === undefined) shapes.push({ of: one, limiter })
      sources.set(one.name, new FixedRules(limiter, policies))
    }
  }
  return new PlanRules(sources, plan, defaultPlan, written)
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for what are no plans */
function readPlans<Req>(plans: unknown): readonly Plan<Req>[] {
  if (typeof plans !== 'object' || plans === null || Array.isArray(plans) || Object.keys(plans).length === 0)
    throw badOption('plans', plans, "give an object such as { free: { limit: 100, window: '1h' } }")
  return Object.entries(plans).map(([name, rule]: [string, unknown]) => {
    if (typeof rule !== 'object' || rule === null)
      throw badOption(`plans.${name}`, rule, "give what it allows, such as { limit: 100, window: '1h' }")
    const { limits, ...one } = rule as { readonly limits?: unknown }
    if (limits === undefined) return { name, tiers: [checkedTier<Req>(`plans.${name}`, one)] }
    const [beside] = Object.keys(one)
    if (beside !== undefined)
      throw badOption(
        `plans.${name}.${beside}`,
        one[beside as never],
        'it stands beside `limits`: put it inside each of `limits`, or leave `limits` out'
      )
    if (!Array.isArray(limits) || limits.length === 0)
      throw badOption(`plans.${name}.limits`, limits, "give a list such as [{ limit: 10, window: '1s' }]")
    return { name, tiers: limits.map((tier, i) => checkedTier<Req>(`plans.${name}.limits[${i}]`, tier)) }
  })
}

function checkedTier<Req>(where: string, tier: unknown): ListedRule<Req> {
  if (typeof tier !== 'object' || tier === null)
    throw badOption(where, tier, "give a policy such as { limit: 10, window: '1s' }")
  const { shadow } = tier as ListedRule<Req>
  if (shadow === undefined) return tier as ListedRule<Req>
  throw badOption(`${where}.shadow`, shadow, 'a plan is not watched only: put `shadow` beside `plans`')
}

function hintFor(name: string, plans: readonly { readonly name: string }[]): string {
  const names = plans.map((plan) => plan.name)
  const near = nearest(name, names)
  return near === undefined ? `known are ${names.join(', ')}.` : `did you mean '${near}'?`
}

/** The rules of the plan that a request has. */
class PlanRules<Req> implements RuleSource<Req> {
  readonly fixed = null
  readonly policies = []
  readonly laterBlocks = null
  readonly parts: readonly PartSource<Req>[] | null
  readonly #sources: ReadonlyMap<string, RuleSource<Req>>
  readonly #planOf: PlanOptions<Req>['plan']
  readonly #default: string | undefined
  readonly #plans: readonly Plan<Req>[]
  readonly #last = new LastRules()

  constructor(
    sources: ReadonlyMap<string, RuleSource<Req>>,
    planOf: PlanOptions<Req>['plan'],
    defaultPlan: string | undefined,
    plans: readonly Plan<Req>[]
  ) {
    this.#sources = sources
    this.#planOf = planOf
    this.#default = defaultPlan
    this.#plans = plans
    const all = [...sources.values()]
    this.parts = all.some(({ parts }) => parts !== null)
      ? all.flatMap((rules) => rules.parts ?? [{ rules, key: null, cost: null, at: [] }])
      : null
  }

  get sample(): BuiltLimiter {
    return this.#all[0]!.sample
  }

  get limiters(): readonly BuiltLimiter[] {
    return [...new Set(this.#all.flatMap(({ limiters }) => limiters))]
  }

  forRequest(request: Req): Rules | Promise<Rules> {
    const plan = this.#planOf(request)
    if (!isPromiseLike<string | undefined | null>(plan)) return this.#source(plan).forRequest(request)
    return Promise.resolve(plan).then((late) => this.#source(late).forRequest(request))
  }

  note(key: string, rules: Rules): void {
    this.#last.note(key, rules)
  }

  lastFor(key: string): Rules | undefined {
    return this.#last.of(key)
  }

  forget(): void {
    this.#last.clear()
    for (const source of this.#all) source.forget()
  }

  get #all(): readonly RuleSource<Req>[] {
    return [...this.#sources.values()]
  }

  /** @throws HeadgateError `HEADGATE_UNKNOWN_PLAN` */
  #source(plan: unknown): RuleSource<Req> {
    const name = plan ?? this.#default
    const source = this.#sources.get(name as string)
    if (source !== undefined) return source
    const why =
      name === undefined
        ? `tells ${shown(plan)}, and there is no \`defaultPlan\`: give one, or tell a plan for every request.`
        : `tells ${shown(name)}, which is none of \`plans\`: ${hintFor(typeof name === 'string' ? name : '', this.#plans)}`
    throw new HeadgateError('HEADGATE_UNKNOWN_PLAN', `\`plan\` ${why}`)
  }
}
