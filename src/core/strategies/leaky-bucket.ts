import { divideUp } from '../exact.js'
import type { Rule, Strategy } from '../strategy.js'
import { tokenBucket } from './token-bucket.js'

/**
 * Traffic shaping as nginx's `limit_req` does it.
 * Promise: admits as a token bucket of `burst + 1`; requests beyond the rate are held back for `delayMs`, so that
 * they come out at the rate. The first `delayAfter` waiting places are not held.
 * State: two numbers, those of the token bucket.
 * Weakness: a held request occupies its connection.
 */
export const leakyBucket: Strategy = {
  ...tokenBucket,
  name: 'leaky-bucket',
  accepts: ['burst', 'delayAfter'],
  shapes: true,
  capacity: (rule) => (rule.burst ?? 0) + 1,

  check(state, at, rule, now, cost, out) {
    out[3] = 0
    return tokenBucket.check(state, at, rule, now, cost, out)
  },

  charge(state, at, rule, now, cost, out) {
    tokenBucket.charge(state, at, rule, now, cost, out)
    out[3] = delayOf(state[at]!, rule, cost)
  },

  take(state, at, rule, now, cost, out) {
    out[3] = 0
    if (!tokenBucket.take!(state, at, rule, now, cost, out)) return false
    out[3] = delayOf(state[at]!, rule, cost)
    return true
  }
}

/** How long a request waits for what was owed before it, when it has brought the debt to this. */
function delayOf(debt: number, rule: Rule, cost: number): number {
  const queued = debt - (cost + (rule.delayAfter ?? 0)) * rule.windowMs
  return queued > 0 ? divideUp(queued, rule.limit) : 0
}
