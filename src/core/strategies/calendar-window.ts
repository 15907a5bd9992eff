import type { Rule, Strategy } from '../strategy.js'
import { fixedWindow } from './fixed-window.js'

/**
 * Promise: at most `limit` units in each day, week, month or year of the calendar, counted exactly. What policies with such a
 * window go by; it has no name to be chosen by.
 * State: two numbers, `[end, count]`, as of a fixed window.
 * Weakness: that of fixed windows.
 */
export const calendarWindow: Strategy = {
  ...fixedWindow,
  name: 'calendar-window',
  accepts: [],
  // Its phase is not that of a length: a long step of the clock carries the time on as it was.
  aligned: () => false,

  charge(state, at, rule, now, cost, out) {
    if (now >= state[at]! || state[at + 1] === 0) {
      state[at] = windowAt(rule, now).end
      state[at + 1] = 0
    }
    const count = Math.max(state[at + 1]!, Math.min(rule.limit, state[at + 1]! + cost))
    state[at + 1] = count
    out[0] = Math.max(0, rule.limit - count)
    out[2] = state[at]! - now
  },

  refund(state, at, rule, now, cost, chargedAt) {
    if (now >= state[at]! || chargedAt < windowAt(rule, now).start) return
    state[at + 1] = Math.max(0, state[at + 1]! - cost)
  }
}

function windowAt({ calendar }: Rule, now: number) {
  return calendar!.windowAt(now)
}
