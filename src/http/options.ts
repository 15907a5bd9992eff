import type { Clock } from '../core/clock.js'
import { readOptions } from '../core/options.js'
import type { Owner } from '../core/store.js'
import { warnOfIdle } from '../limiter/options.js'
import type { ForwardedSource } from './forwarded.js'
import { Gate } from './gate.js'
import { type GateSettings, gateSettings } from './gate-settings.js'
import { type HeaderPlan, headerPlan } from './headers/index.js'
import { type CountPredicate, httpOptions, type ShadowListener } from './http-options.js'
import type { KeySpec } from './key.js'
import { type LimitRules, type Limits, readLimitRules, type Watched } from './limits.js'
import type { RulesOption } from './request-rules.js'
import { type GateChoice, RuledGates } from './ruled-gates.js'
import type { PerRequest, RuleSource } from './rules.js'

/** Options of one policy, of `limits` for several, of `plans`, or rules of a file. */
export type GateOptions<Req, Res, Plan extends string = string> = GateSettings<Req, Res> &
  LimitRules<Req, Plan>

/** Options, validated and compiled once. */
export interface GatePlan<Req, Res> {
  readonly rules: RuleSource<Req>
  /** What decides in the place of `rules`: rules of a file. */
  readonly ruled: GateChoice<Req, Res> | null
  readonly key: KeySpec<Req>
  readonly cost: PerRequest<Req, number>
  readonly skip: GateSettings<Req, Res>['skip'] | null
  readonly allows: ((address: string) => boolean) | null
  readonly denies: ((address: string) => boolean) | null
  readonly ipv6Subnet: number | false
  readonly forwarded: ForwardedSource
  readonly counts: CountPredicate<Req, Res> | null
  readonly abortedStatus: number | null
  readonly isShadow: boolean
  /** What is only watched, beside what is enforced. */
  readonly watched: readonly GatePlan<Req, Res>[]
  readonly onShadow: ShadowListener<Req> | null
  readonly headers: HeaderPlan
  readonly exposes: boolean
  readonly partitionSecret: string | null
  readonly statusCode: number
  readonly message: NonNullable<GateSettings<Req, Res>['message']> | null
  readonly onLimited: NonNullable<GateSettings<Req, Res>['onLimited']> | null
  readonly now: Clock | undefined
}

/**
 * Compiles the options of a gate; its counters belong to `owner`.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function gatePlan<Req, Res>(
  options: GateOptions<Req, Res>,
  where: string,
  owner: Owner = { mayShare: true }
): GatePlan<Req, Res> {
  const { headers: styles = 'draft-06', retryAfterFormat = 'delay-seconds' } = Object(
    options
  ) as typeof options
  const headers = headerPlan(styles, { retryAfterFormat })
  const labelled = owner.label === undefined ? { ...owner, label: where } : owner
  const ruled = ruledBy<Req, Res>(options, where, owner)
  const { enforced, watched } =
    ruled === null ? readLimitRules<Req>(options, where, labelled) : limitsOfRules(ruled, options)
  const made = { options, where, headers, ruled }
  const all = watched.map(({ limits, onShadow }): GatePlan<Req, Res> => {
    const plan = planOf(limits, made)
    return { ...plan, isShadow: true, onShadow: onShadow ?? plan.onShadow }
  })
  if (enforced !== null) return { ...planOf(enforced, made), watched: all }
  const [first, ...others] = all as [GatePlan<Req, Res>, ...GatePlan<Req, Res>[]]
  return { ...first, watched: others }
}

/** What the plans of one gate have in common. */
interface Made<Req, Res> extends Pick<GatePlan<Req, Res>, 'headers' | 'ruled'> {
  readonly options: GateOptions<Req, Res>
  readonly where: string
}

/** The plan of some limits, with all else as it is written. */
function planOf<Req, Res>(
  { rules, key, cost, tiers }: Limits<Req>,
  { options, where, headers, ruled }: Made<Req, Res>
): GatePlan<Req, Res> {
  const terms = { rules, headers, countOnly: options.countOnly }
  const read = readOptions(httpOptions, { ...options, cost }, terms)
  if (tiers.length > 0) warnOfIdle(options, tiers, where, read.cost === 1)
  const { shadow } = read
  return {
    rules,
    ruled,
    key,
    cost: read.cost as PerRequest<Req, number>,
    skip: read.skip as GatePlan<Req, Res>['skip'],
    allows: read.allow,
    denies: read.deny,
    ipv6Subnet: read.ipv6Subnet,
    forwarded: read.forwarded,
    counts: read.countOnly as GatePlan<Req, Res>['counts'],
    abortedStatus: read.aborted,
    isShadow: shadow !== false,
    onShadow: typeof shadow === 'function' ? (shadow as ShadowListener<Req>) : null,
    headers,
    exposes: read.exposeHeaders,
    partitionSecret: read.partitionKey,
    statusCode: read.statusCode,
    message: read.message as GatePlan<Req, Res>['message'],
    onLimited: read.onLimited as GatePlan<Req, Res>['onLimited'],
    now: options.now,
    watched: []
  }
}

/** What stands for the limits of a gate that has rules of a file in their place. */
function limitsOfRules<Req, Res>(
  { source: rules }: RuledGates<Req, Res>,
  { key = 'ip', cost }: GateOptions<Req, Res>
): { readonly enforced: Limits<Req>; readonly watched: readonly Watched<Req>[] } {
  return { enforced: { rules, key, cost, tiers: [] }, watched: [] }
}

/** The gates of the rules that stand in the place of a limit; null where there are none. */
function ruledBy<Req, Res>(
  options: GateOptions<Req, Res>,
  where: string,
  owner: Owner
): RuledGates<Req, Res> | null {
  if (typeof options !== 'object' || (options as RulesOption | null)?.rules === undefined) return null
  const open = (inner: GateOptions<Req, Res>, label: string, of: Owner) =>
    new Gate<Req, Res>(gatePlan(inner, label, of))
  return new RuledGates<Req, Res>({ options, settings: gateSettings, where, owner, open: open as never })
}
