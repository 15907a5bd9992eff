import { checkProduct } from '../exact.js'
import type { Rule, Strategy } from '../strategy.js'
import { chargeDebt, checkDebt, refundDebt, takeDebt, wholeMs } from './debt.js'

/**
 * The generic cell rate algorithm (ITU-T I.371), in its virtual scheduling form.
 * Promise: the same decisions as a token bucket.
 * State: the theoretical arrival time, the instant at which all that was admitted is paid back. As a number of
 * ms with a fraction it does not fit one double exactly (the ms alone take 41 bits), so the whole ms and
 * the fraction (in 1/limit ms) have a slot each.
 * Weakness: as the token bucket's. A key whose limit changes keeps the time that it owes, not the units.
 */
export const gcra: Strategy = {
  name: 'gcra',
  accepts: ['burst'],
  slots: () => 2,
  capacity: (rule) => rule.burst ?? rule.limit,
  validate: (rule) => checkProduct(rule.burst ? 'burst' : 'limit', rule.capacity, rule.windowMs),

  check: (state, at, rule, now, cost, out) => checkDebt(debtOf(state, at, rule, now), rule, cost, out),

  charge(state, at, rule, now, cost, out) {
    setArrival(state, at, rule, now, chargeDebt(debtOf(state, at, rule, now), rule, cost, out))
  },

  take(state, at, rule, now, cost, out) {
    const owed = takeDebt(debtOf(state, at, rule, now), rule, cost, out)
    if (owed < 0) return false
    setArrival(state, at, rule, now, owed)
    return true
  },

  cover(state, at, other, from, rule, now) {
    if (debtOf(other, from, rule, now) <= debtOf(state, at, rule, now)) return
    state[at] = other[from]!
    state[at + 1] = other[from + 1]!
  },

  refund(state, at, rule, now, cost, chargedAt) {
    setArrival(state, at, rule, now, refundDebt(debtOf(state, at, rule, now), rule, now, cost, chargedAt))
  }
}

function debtOf(state: Float64Array, at: number, rule: Rule, now: number): number {
  return Math.max(0, (state[at]! - now) * rule.limit + state[at + 1]!)
}

function setArrival(state: Float64Array, at: number, rule: Rule, now: number, debt: number): void {
  const whole = wholeMs(debt, rule)
  state[at] = now + whole
  state[at + 1] = debt - whole * rule.limit
}
