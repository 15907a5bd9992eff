import { divideDown, divideUp } from '../exact.js'
import type { Rule } from '../strategy.js'

/*
 * What the bucket strategies share. A bucket owes a debt: units charged and not yet paid back by time, counted in
 * 1/W units (W the window in ms), so that `limit` of them are paid back each ms and slow rates stay whole numbers.
 */

/** Answers for a bucket that owes `debt`, before any charge. */
export function checkDebt(debt: number, rule: Rule, cost: number, out: Float64Array): boolean {
  const excess = debt - (rule.capacity - cost) * rule.windowMs
  out[1] = excess > 0 ? divideUp(excess, rule.limit) : 0
  answerDebt(debt, rule, out)
  return excess <= 0
}

/** The debt after a charge that is admitted, with the answers for it; -1 where it is not, with those for `debt`. */
export function takeDebt(debt: number, rule: Rule, cost: number, out: Float64Array): number {
  const owed = debt + cost * rule.windowMs
  if (owed > rule.capacity * rule.windowMs) {
    checkDebt(debt, rule, cost, out)
    return -1
  }
  out[1] = 0
  answerDebt(owed, rule, out)
  return owed
}

/** The debt after a charge, never past full; answers for it. */
export function chargeDebt(debt: number, rule: Rule, cost: number, out: Float64Array): number {
  const full = rule.capacity * rule.windowMs
  const owed = Math.max(debt, debt >= full - cost * rule.windowMs ? full : debt + cost * rule.windowMs)
  answerDebt(owed, rule, out)
  return owed
}

/**
 * The debt after a refund. What time has paid back since the charge is not given back twice: a bucket that was
 * full again in between would otherwise admit more than capacity and rate allow.
 */
export function refundDebt(debt: number, rule: Rule, now: number, cost: number, chargedAt: number): number {
  const unpaid = cost * rule.windowMs - Math.max(0, now - chargedAt) * rule.limit
  return unpaid > 0 ? Math.max(0, debt - unpaid) : debt
}

function answerDebt(debt: number, rule: Rule, out: Float64Array): void {
  out[0] = rule.capacity - (debt === 0 ? 0 : Math.min(rule.capacity, divideUp(debt, rule.windowMs)))
  out[2] = debt === 0 ? 0 : divideUp(debt, rule.limit)
}

/** Milliseconds that a debt takes to be paid back, rounded down. */
export function wholeMs(debt: number, rule: Rule): number {
  return divideDown(debt, rule.limit)
}
