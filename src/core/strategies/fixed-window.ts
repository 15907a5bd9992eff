import type { Rule, Strategy } from '../strategy.js'

/**
 * Promise: at most `limit` units in each window, counted exactly.
 * State: two numbers, `[window, count]`. The window is its index on the clock, or with
 * `align: 'first-request'` the instant of the key's first admitted request.
 * Weakness: two full windows may meet, so up to twice the limit passes within one window's length.
 */
export const fixedWindow: Strategy = {
  name: 'fixed-window',
  accepts: ['align'],
  slots: () => 2,
  aligned: (rule) => rule.align !== 'first-request',

  check(state, at, rule, now, cost, out) {
    const count = isCurrent(state, at, rule, now) ? state[at + 1]! : 0
    const left = count === 0 ? 0 : endOf(state, at, rule) - now
    const allowed = cost <= rule.limit - count
    out[0] = count < rule.limit ? rule.limit - count : 0
    out[1] = allowed ? 0 : left
    out[2] = left
    return allowed
  },

  charge(state, at, rule, now, cost, out) {
    if (!isCurrent(state, at, rule, now)) {
      state[at] = rule.align === 'first-request' ? now : Math.floor(now / rule.windowMs)
      state[at + 1] = 0
    }
    const room = rule.limit - state[at + 1]!
    if (room > 0) state[at + 1]! += Math.min(cost, room)
    out[0] = room > cost ? room - cost : 0
    out[2] = endOf(state, at, rule) - now
  },

  chargeShared(state, at, rule, now, cost, out) {
    // The window of a key that comes late ends after the one that it finds open: let that one last as long.
    fixedWindow.charge(state, at, rule, now, cost, out)
    if (rule.align !== 'first-request') return
    state[at] = now
    out[2] = rule.windowMs
  },

  refund(state, at, rule, now, cost, chargedAt) {
    if (!isCurrent(state, at, rule, now) || !isCurrent(state, at, rule, chargedAt)) return
    state[at + 1] = Math.max(0, state[at + 1]! - cost)
  }
}

/** Is `now` inside the window that the state counts? */
function isCurrent(state: Float64Array, at: number, rule: Rule, now: number): boolean {
  return rule.align === 'first-request'
    ? state[at + 1]! > 0 && now >= state[at]! && now - state[at]! < rule.windowMs
    : Math.floor(now / rule.windowMs) === state[at]
}

function endOf(state: Float64Array, at: number, rule: Rule): number {
  return rule.align === 'first-request' ? state[at]! + rule.windowMs : (state[at]! + 1) * rule.windowMs
}
