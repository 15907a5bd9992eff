import type { BuiltLimiter } from '../core/limiter-options.js'
import { badOption } from '../core/options.js'
import { checkUnique, tierName } from '../core/policy-names.js'
import type { PolicyOptions } from '../core/policy-options.js'
import type { Owner } from '../core/store.js'
import type { LimiterSettings } from '../limiter/options.js'
import { costOf, type ShadowListener } from './http-options.js'
import { type KeySpec, keyReader } from './key.js'
import { gather, isPromiseLike } from './promise.js'
import {
  type PartSource,
  type PerRequest,
  type RuleOptions,
  type RulePart,
  type RuleSource,
  type Rules,
  ruleSource
} from './rules.js'

/** One of `limits`, which may have a key and a cost of its own, or be watched only. */
export type ListedRule<Req> = RuleOptions<Req> & {
  /** Who is charged under this limit; the limiter's `key` if left out. */
  readonly key?: KeySpec<Req> | undefined
  /** Units that a request takes of this limit; the limiter's `cost` if left out. */
  readonly cost?: PerRequest<Req, number> | undefined
  /** Decide and record by this limit, but never deny by it: see the limiter's `shadow`. */
  readonly shadow?: boolean | ShadowListener<Req> | undefined
}

/** What stands beside the limits of a list, and holds for those that say nothing themselves. */
export interface ListTerms<Req> {
  readonly key: KeySpec<Req> | undefined
  readonly cost: PerRequest<Req, number> | undefined
  readonly ipv6Subnet: number | false
}

/** Limits that have one key and one cost. */
export interface Group<Req> {
  readonly tiers: RuleOptions<Req>[]
  /** Where each stands in the list. */
  readonly at: number[]
  readonly key: KeySpec<Req> | undefined
  readonly cost: PerRequest<Req, number> | undefined
}

/** Groups limits by who is charged, and how much. */
export function groupsOf<Req>(tiers: readonly ListedRule<Req>[]): readonly Group<Req>[] {
  const groups: Group<Req>[] = []
  for (const [i, { key, cost, shadow: _, ...tier }] of tiers.entries()) {
    let group = groups.find((one) => isSameKey(one.key, key) && one.cost === cost)
    if (group === undefined) {
      group = { tiers: [], at: [], key, cost }
      groups.push(group)
    }
    group.tiers.push(tier as RuleOptions<Req>)
    group.at.push(i)
  }
  return groups
}

/**
 * The rules of limits that are charged to several keys, or at several costs, and decided together. `block` and `ban` are
 * about the first key alone: the others may stand for many clients, none of whom is to pay for what another did.
 */
export function jointRules<Req>(
  groups: readonly Group<Req>[],
  settings: LimiterSettings,
  owner: Owner,
  terms: ListTerms<Req>
): RuleSource<Req> {
  for (const { tiers } of groups) for (const tier of tiers) checkAlone(tier, settings)
  const named = groups.map((group) => group.tiers.map((tier, i) => nameOf(tier, group, i)))
  checkUnique(named.flat().map((name) => ({ name })))
  return new JointRules(
    groups.map(({ tiers, at, key, cost }, i) => {
      const areNamed = tiers.every(({ name }) => name !== undefined)
      const all = tiers.map((tier, j) => ({ ...tier, name: named[i]![j]! }))
      const own = i === 0 ? settings : { ...settings, block: undefined, ban: undefined }
      const rules = ruleSource<Req>({ tiers: all, isList: true }, own, owner, areNamed)
      return {
        rules,
        at,
        key: key === undefined ? null : keyReader(key, terms.ipv6Subnet),
        cost: cost === undefined ? null : (costOf('cost', cost, { rules }) as PerRequest<Req, number>)
      }
    })
  )
}

/** Refuses what cannot be decided together with the limits of other keys. */
function checkAlone<Req>({ queue }: RuleOptions<Req>, { lease }: LimiterSettings): void {
  if (queue !== undefined && queue > 0)
    throw badOption(
      'queue',
      queue,
      'limits of several keys or costs are decided at once, and nobody waits: give `concurrency` with a `queue` a limiter of its own'
    )
  if (lease !== undefined)
    throw badOption(
      'lease',
      lease,
      'limits of several keys or costs are charged in the store each time; leave it out'
    )
}

/** Of those without a name: what it allows, and by which key. */
function nameOf<Req>(tier: RuleOptions<Req>, { key, at }: Group<Req>, i: number): string {
  if (tier.name !== undefined) return tier.name
  const { limit, window, concurrency } = tier
  const isComputed = [limit, window, concurrency].some((value) => typeof value === 'function')
  const name = isComputed ? `limit-${at[i]! + 1}` : tierName(tier as PolicyOptions)
  return nameByKey(name, key)
}

/** The name of a limit that was given none, with the key that it has of its own. */
export function nameByKey(name: string, key: unknown): string {
  return key === undefined ? name : `${name}-by-${shownKey(key)}`
}

function shownKey(key: unknown): string {
  if (Array.isArray(key)) return key.map(shownKey).join('+')
  return typeof key === 'string' ? key.replace(/^header:/, '') : 'key'
}

function isSameKey(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((part, i) => isSameKey(part, b[i]))
}

/** The rules of several limiters that decide together. */
class JointRules<Req> implements RuleSource<Req> {
  readonly fixed = null
  readonly laterBlocks = null
  readonly policies
  readonly parts: readonly PartSource<Req>[]
  /** What every request is decided by, where nothing is computed. */
  readonly #known: Rules | null

  constructor(parts: readonly PartSource<Req>[]) {
    this.parts = parts
    const isFixed = parts.every(({ rules }) => rules.fixed !== null)
    this.#known = isFixed ? this.#joined(parts.map(({ rules }) => rules.fixed!)) : null
    this.policies = isFixed ? inOrder(parts) : []
  }

  get sample(): BuiltLimiter {
    return this.parts[0]!.rules.sample
  }

  get limiters(): readonly BuiltLimiter[] {
    return this.parts.flatMap(({ rules }) => rules.limiters)
  }

  forRequest(request: Req): Rules | Promise<Rules> {
    if (this.#known !== null) return this.#known
    const made = gather(
      this.parts.map(
        ({ rules }) =>
          () =>
            rules.forRequest(request)
      )
    )
    return isPromiseLike(made) ? made.then((late) => this.#joined(late)) : this.#joined(made)
  }

  note(): void {}

  lastFor(): undefined {}

  forget(): void {
    for (const { rules } of this.parts) rules.forget()
  }

  #joined(made: readonly Rules[]): Rules {
    const parts = this.parts.map(
      ({ key, cost, at }, i): RulePart => ({
        limiter: made[i]!.limiter,
        policies: made[i]!.policies,
        key: key as RulePart['key'],
        cost: cost as RulePart['cost'],
        at
      })
    )
    return { limiter: made[0]!.limiter, policies: made[0]!.policies, parts }
  }
}

function inOrder<Req>(parts: readonly PartSource<Req>[]) {
  const placed = parts.flatMap(({ rules, at }) =>
    rules.policies.map((policy, i) => ({ policy, place: at[i]! }))
  )
  return placed.sort((a, b) => a.place - b.place).map(({ policy }) => policy)
}
