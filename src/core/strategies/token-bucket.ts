import { checkProduct } from '../exact.js'
import type { Rule, Strategy } from '../strategy.js'
import { chargeDebt, checkDebt, refundDebt, takeDebt } from './debt.js'

/**
 * Promise: in any span of T ms at most `burst + limit · T / W` units; a burst at once, then a steady rate.
 * State: two numbers, `[debt, paid]`: what is owed in 1/W units, and up to when time has paid it back.
 * Weakness: a full bucket lets the whole burst through at one instant.
 */
export const tokenBucket: Strategy = {
  name: 'token-bucket',
  accepts: ['burst'],
  slots: () => 2,
  capacity: (rule) => rule.burst ?? rule.limit,
  validate: (rule) => checkProduct(rule.burst ? 'burst' : 'limit', rule.capacity, rule.windowMs),

  check: (state, at, rule, now, cost, out) => checkDebt(debtOf(state, at, rule, now), rule, cost, out),

  charge(state, at, rule, now, cost, out) {
    state[at] = chargeDebt(debtOf(state, at, rule, now), rule, cost, out)
    state[at + 1] = now
  },

  take(state, at, rule, now, cost, out) {
    const owed = takeDebt(debtOf(state, at, rule, now), rule, cost, out)
    if (owed < 0) return false
    state[at] = owed
    state[at + 1] = now
    return true
  },

  cover(state, at, other, from, rule, now) {
    state[at] = Math.max(debtOf(state, at, rule, now), debtOf(other, from, rule, now))
    state[at + 1] = now
  },

  refund(state, at, rule, now, cost, chargedAt) {
    state[at] = refundDebt(debtOf(state, at, rule, now), rule, now, cost, chargedAt)
    state[at + 1] = now
  }
}

function debtOf(state: Float64Array, at: number, rule: Rule, now: number): number {
  const debt = state[at]!
  if (debt === 0) return 0
  const paid = (now - state[at + 1]!) * rule.limit
  return paid < debt ? debt - paid : 0
}
