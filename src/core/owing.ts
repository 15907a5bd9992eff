import type { LowestLimits } from './lowest-limits.js'
import type { Tier } from './tier.js'

/** The longest that a bucket which owes nothing is taken for one that is still in use, ms. */
const longestUseMs = 10_000

/** The tiers of a bucket, and the lowest limits that keys were charged under: under those they owe for longest. */
interface Tiers {
  readonly tiers: readonly Tier[]
  readonly lowest: LowestLimits
}

/** For how long the numbers at `base` owe anything, under the policies in use and under the lowest limits. */
export function owedMs({ tiers, lowest }: Tiers, state: Float64Array, base: number): number {
  let longest = 0
  for (const [i, tier] of tiers.entries()) {
    const now = tier.resetMs(state, base, tier.policy)
    const ms = Math.max(now, tier.resetMs(state, base, lowest.policies[i]!))
    if (ms > 0) longest = Math.max(longest, ms + tier.steady.lag)
  }
  return longest
}

/** True if the numbers at `base` say what zeros would: nothing is lost if they are forgotten. */
export function isSpent({ tiers, lowest }: Tiers, state: Float64Array, base: number): boolean {
  for (let i = 0; i < tiers.length; i++)
    if (tiers[i]!.resetMs(state, base, lowest.policies[i]!) > 0) return false
  return true
}

/**
 * True if they have been spent for some time, so that the key is unlikely to come again soon. To forget a key that does
 * costs more than the room it takes: it has to be added again (bench/decision.js, paid back).
 */
export function isIdle(bucket: Tiers, state: Float64Array, base: number): boolean {
  if (!isSpent(bucket, state, base)) return false
  const { tiers, lowest } = bucket
  for (let i = 0; i < tiers.length; i++) {
    const { policy, steady } = tiers[i]!
    const earlier = steady.now - Math.min(longestUseMs, policy.windowMs)
    if (tiers[i]!.resetMs(state, base, lowest.policies[i]!, earlier) > 0) return false
  }
  return true
}
