import { tightest } from '../../core/decision.js'
import type { Quota } from './quota.js'

/**
 * The tier to report in fields that are of a window of time: of those that have one, the closest to its limit. What is in
 * flight has no window, and only the Lists of draft-08 and later can name its unit.
 */
export function tightestWindow(tiers: readonly Quota[]): Quota | undefined {
  for (const tier of tiers) if (isInFlight(tier)) return tightest(tiers.filter((one) => !isInFlight(one)))
  return tightest(tiers)
}

/** True for a tier that counts what is in flight. */
export function isInFlight({ policy }: Quota): boolean {
  return policy.unit === 'concurrent-requests'
}
