import type { Rule, Strategy } from '../strategy.js'

/**
 * Promise: at most `limit` units in each window, counted exactly.
 * State: two numbers, `[end, count]`: when the window that the count is of ends. Windows begin at multiples of
 * their length on the clock, or with `align: 'first-request'` at the key's first admitted request.
 * Weakness: two full windows may meet, so up to twice the limit passes within one window's length.
 */
export const fixedWindow: Strategy = {
  name: 'fixed-window',
  accepts: ['align'],
  slots: () => 2,
  aligned: (rule) => rule.align !== 'first-request',

  check(state, at, rule, now, cost, out) {
    const end = state[at]!
    const count = now < end ? state[at + 1]! : 0
    const left = count === 0 ? 0 : end - now
    const allowed = cost <= rule.limit - count
    out[0] = Math.max(0, rule.limit - count)
    out[1] = allowed ? 0 : left
    out[2] = left
    return allowed
  },

  charge(state, at, rule, now, cost, out) {
    if (now >= state[at]! || state[at + 1] === 0) {
      state[at] = endOf(rule, now)
      state[at + 1] = 0
    }
    const count = Math.max(state[at + 1]!, Math.min(rule.limit, state[at + 1]! + cost))
    state[at + 1] = count
    out[0] = Math.max(0, rule.limit - count)
    out[2] = state[at]! - now
  },

  cover(state, at, other, from, _rule, now) {
    const isOpen = now < state[at]!
    state[at] = isOpen ? Math.max(state[at]!, other[from]!) : other[from]!
    state[at + 1] = isOpen ? Math.max(state[at + 1]!, other[from + 1]!) : other[from + 1]!
  },

  refund(state, at, rule, now, cost, chargedAt) {
    if (now >= state[at]! || chargedAt < state[at]! - rule.windowMs) return
    state[at + 1] = Math.max(0, state[at + 1]! - cost)
  }
}

/** When a window that opens now ends. */
function endOf({ align, windowMs }: Rule, now: number): number {
  return align === 'first-request' ? now + windowMs : (Math.floor(now / windowMs) + 1) * windowMs
}
