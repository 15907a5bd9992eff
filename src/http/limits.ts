import { badOption, checkNames } from '../core/options.js'
import { type PolicyOrLimits, readLimits } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import type { LimiterSettings } from '../limiter/options.js'
import { gateSettings } from './gate-settings.js'
import { httpOptions, type ShadowListener } from './http-options.js'
import type { KeySpec } from './key.js'
import { type Group, groupsOf, jointRules, type ListedRule, type ListTerms } from './limit-parts.js'
import { type PlanOptions, planOptions, planRules } from './plans.js'
import type { RulesOption } from './request-rules.js'
import { type PerRequest, type RuleOptions, type RuleSource, ruleSource } from './rules.js'

/** How a limit of requests is written everywhere: one policy, `limits` for several, plans, or rules of a file. */
export type LimitRules<Req, Plan extends string = string> =
  | (PolicyOrLimits<RuleOptions<Req>, ListedRule<Req>> & NoPlans & { readonly rules?: undefined })
  | (PlanOptions<Req, Plan> & { readonly limits?: undefined; readonly rules?: undefined })
  | (RulesOption & NoPlans)

/** What stands beside no plans. */
export interface NoPlans {
  readonly plans?: undefined
  readonly plan?: undefined
  readonly defaultPlan?: undefined
}

/** What requests are limited by, and by whom each is counted. */
export interface Limits<Req> {
  readonly rules: RuleSource<Req>
  readonly key: KeySpec<Req>
  readonly cost: PerRequest<Req, number> | undefined
  /** The limits as they were written, as far as they are known; none of plans. */
  readonly tiers: readonly RuleOptions<Req>[]
}

/** One of `limits` that is only watched. */
export interface Watched<Req> {
  readonly limits: Limits<Req>
  readonly onShadow: ShadowListener<Req> | null
}

/** The settings that limits are read beside. */
interface ReadSettings<Req> extends LimiterSettings {
  readonly key?: KeySpec<Req> | undefined
  readonly cost?: PerRequest<Req, number> | undefined
  readonly ipv6Subnet?: number | false | undefined
}

/**
 * Reads what requests are limited by.
 * @returns the limits that are enforced, null where there are none, and those that are only watched
 * @throws HeadgateError that names the option, the value and the fix
 */
export function readLimitRules<Req>(
  options: LimitRules<Req> & ReadSettings<Req>,
  where: string,
  owner: Owner
): { readonly enforced: Limits<Req> | null; readonly watched: readonly Watched<Req>[] } {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { limit: 100, window: '1m' }")
  const terms = {
    key: options.key,
    cost: options.cost,
    ipv6Subnet: httpOptions.ipv6Subnet.read('ipv6Subnet', options.ipv6Subnet)
  }
  const { plans } = options
  if (plans !== undefined) {
    checkNames(options, { ...planOptions, ...gateSettings }, where)
    const rules = planRules<Req>(options as PlanOptions<Req>, options, owner, terms)
    return { enforced: { rules, key: terms.key ?? 'ip', cost: terms.cost, tiers: [] }, watched: [] }
  }
  for (const name of ['plan', 'defaultPlan'] as const)
    if (options[name] !== undefined)
      throw badOption(
        name,
        options[name],
        'it tells which of `plans` holds: give those too, in place of the limit'
      )
  const { tiers, isList } = readLimits<ListedRule<Req>>(options as never, gateSettings, where)
  if (!isList) {
    const rules = ruleSource<Req>({ tiers: tiers as readonly RuleOptions<Req>[], isList }, options, owner)
    const known = tiers as readonly RuleOptions<Req>[]
    return { enforced: { rules, key: terms.key ?? 'ip', cost: terms.cost, tiers: known }, watched: [] }
  }
  const [watched, enforced] = [tiers.filter(isWatched), tiers.filter((tier) => !isWatched(tier))]
  return {
    enforced: enforced.length === 0 ? null : limitsOf(enforced, options, owner, terms),
    watched: watched.map((tier, i) => ({
      limits: limitsOf([tier], options, watcherOf(owner, i), terms),
      onShadow: typeof tier.shadow === 'function' ? tier.shadow : null
    }))
  }
}

/** What is watched counts apart from an enforced limit of the same rule. */
function watcherOf(owner: Owner, i: number): Owner {
  return { ...owner, place: `${owner.place ?? owner.group ?? ''} shadow ${i + 1}` }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for a `shadow` that is neither a function nor true or false */
function isWatched<Req>({ shadow = false }: ListedRule<Req>): boolean {
  if (typeof shadow === 'boolean') return shadow
  if (typeof shadow === 'function') return true
  throw badOption('shadow', shadow, 'give true, false or a function')
}

/** The limits of a list. Where all have one key of their own, it takes the place of the limiter's. */
function limitsOf<Req>(
  listed: readonly ListedRule<Req>[],
  settings: LimiterSettings,
  owner: Owner,
  terms: ListTerms<Req>
): Limits<Req> {
  const groups = groupsOf(listed)
  const [first] = groups as readonly [Group<Req>]
  const tiers = groups.flatMap((group) => group.tiers)
  const beside = { key: first.key ?? terms.key ?? 'ip', cost: first.cost ?? terms.cost, tiers }
  return groups.length === 1
    ? { ...beside, rules: ruleSource<Req>({ tiers, isList: true }, settings, owner) }
    : { ...beside, ...mainOf(groups, terms), rules: jointRules(groups, settings, owner, terms) }
}

/** What holds for those limits of several that have no key or cost of their own; if none does, it is the first one's. */
function mainOf<Req>(
  groups: readonly Group<Req>[],
  terms: ListTerms<Req>
): Pick<Limits<Req>, 'key' | 'cost'> {
  const usesKey = groups.some(({ key }) => key === undefined)
  return { key: (usesKey ? terms.key : (terms.key ?? groups[0]!.key)) ?? 'ip', cost: terms.cost }
}
