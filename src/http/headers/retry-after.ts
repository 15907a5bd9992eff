import type { Quota } from './quota.js'
import { MAX_INTEGER, seconds } from './seconds.js'
import { waitMs } from './waits.js'

/** The two forms of RFC 9110 §10.2.3. */
export type RetryAfterFormat = 'delay-seconds' | 'http-date'

/** Last second that IMF-fixdate can write with its four-digit year, RFC 9110 §5.6.7. */
const LAST_DATE_SECONDS = 253_402_300_799

/**
 * Seconds until every denied tier admits the same request, rounded up, at least 1 (H7); null when none is
 * denied, and when a wait is infinite or unknown, since any number would be a false promise.
 */
export function retryAfterSeconds(tiers: readonly Quota[]): number | null {
  const wait = longestWaitMs(tiers)
  if (wait === 0 || wait === Infinity) return null
  const up = seconds(wait)
  return up < 0 ? MAX_INTEGER : up
}

/** Retry-After as delay-seconds; '' when there is none. */
export function delaySeconds(tiers: readonly Quota[]): string {
  const wait = retryAfterSeconds(tiers)
  return wait === null ? '' : String(wait)
}

/** Retry-After as an IMF-fixdate, the second rounded up; '' when there is none or it is past the year 9999. */
export function httpDate(tiers: readonly Quota[], nowMs: number): string {
  const wait = longestWaitMs(tiers)
  if (wait === 0) return ''
  const instant = seconds(nowMs + Math.ceil(wait))
  return instant < 0 || instant > LAST_DATE_SECONDS ? '' : new Date(instant * 1000).toUTCString()
}

/** 0 when no tier is denied. A wait that nobody knows is as long as another, if there is one; otherwise Infinity. */
function longestWaitMs(tiers: readonly Quota[]): number {
  let longest = 0
  let isUnsure = false
  for (let i = 0; i < tiers.length; i++) {
    const tier = tiers[i]!
    if (tier.allowed) continue
    if (Number.isNaN(tier.retryAfterMs)) isUnsure = true
    else longest = Math.max(longest, waitMs(tier))
  }
  return isUnsure && longest === 0 ? Infinity : longest
}
