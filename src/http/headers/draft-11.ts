import type { Quota } from './quota.js'
import { integer, seconds, windowSeconds } from './seconds.js'
import { partitionKeyParameter, quoted } from './structured-field.js'
import type { HeaderStyle } from './style.js'
import { isInFlight } from './tightest-window.js'
import { resetMsOf } from './waits.js'

const FIELDS: readonly string[] = Object.freeze(['RateLimit', 'RateLimit-Policy'])

/** What the policy text of one tier was built from, and the text. */
interface Item {
  name: string
  unit: string | undefined
  limit: number
  windowMs: number | null
  /** The name as a String. */
  label: string
  /** The RateLimit-Policy member without `pk`; '' when the tier is unlimited. */
  policy: string
}

/**
 * draft-ietf-httpapi-ratelimit-headers-08 to -11 §3, §4: RateLimit and RateLimit-Policy as Lists of named
 * Items, every tier in configuration order (H11). Unlimited tiers are left out, `t` and `w` where unknown, as they are of
 * what is in flight.
 */
export class Draft11 implements HeaderStyle {
  readonly name: string
  readonly fields = FIELDS
  readonly hasLists = true
  readonly #items: Item[] = []
  #policies = ''

  constructor(name: 'draft-08' | 'draft-09' | 'draft-10' | 'draft-11') {
    this.name = name
  }

  fill(tiers: readonly Quota[], _nowMs: number, out: string[], at: number): void {
    if (!this.#known(tiers)) this.#remember(tiers)
    let quotas = ''
    let keyed = false
    for (let i = 0; i < tiers.length; i++) {
      const tier = tiers[i]!
      const item = this.#items[i]!
      if (item.policy === '') continue
      if (quotas !== '') quotas += ', '
      quotas += item.label
      quotas += ';r='
      quotas += integer(tier.remaining)
      const reset = isInFlight(tier) ? -1 : seconds(resetMsOf(tier))
      if (reset >= 0) {
        quotas += ';t='
        quotas += reset
      }
      if (tier.partitionKey === undefined) continue
      keyed = true
      quotas += partitionKeyParameter(tier.partitionKey)
    }
    out[at] = quotas
    out[at + 1] = keyed ? this.#keyedPolicies(tiers) : this.#policies
  }

  #keyedPolicies(tiers: readonly Quota[]): string {
    let text = ''
    for (let i = 0; i < tiers.length; i++) {
      const item = this.#items[i]!
      if (item.policy === '') continue
      if (text !== '') text += ', '
      text += item.policy + partitionKeyParameter(tiers[i]!.partitionKey)
    }
    return text
  }

  #known(tiers: readonly Quota[]): boolean {
    if (tiers.length !== this.#items.length) return false
    for (let i = 0; i < tiers.length; i++) if (!isOf(this.#items[i]!, tiers[i]!)) return false
    return true
  }

  #remember(tiers: readonly Quota[]): void {
    this.#items.length = tiers.length
    this.#policies = ''
    for (let i = 0; i < tiers.length; i++) {
      const last = this.#items[i]
      const item = last !== undefined && isOf(last, tiers[i]!) ? last : itemOf(tiers[i]!)
      this.#items[i] = item
      if (item.policy === '') continue
      if (this.#policies !== '') this.#policies += ', '
      this.#policies += item.policy
    }
  }
}

function isOf(item: Item, tier: Quota): boolean {
  const policy = tier.policy
  return (
    tier.limit === item.limit &&
    policy.name === item.name &&
    policy.quotaWindowMs === item.windowMs &&
    policy.unit === item.unit
  )
}

/** Parameters in the order q, qu, w (H6); draft-11 §3.1. */
function itemOf(tier: Quota): Item {
  const { name, unit, quotaWindowMs: windowMs } = tier.policy
  const label = quoted(name)
  let policy = ''
  if (tier.limit !== Infinity) {
    const window = windowSeconds(windowMs)
    policy = `${label};q=${integer(tier.limit)}`
    if (unit !== undefined && unit !== 'requests') policy += `;qu=${quoted(unit)}`
    if (window > 0) policy += `;w=${window}`
  }
  return { name, unit, limit: tier.limit, windowMs, label, policy }
}
