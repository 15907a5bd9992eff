import type { Rule, Strategy } from '../strategy.js'

/**
 * Promise: at most `limit` units in every window that ends at any instant, exactly.
 * State: `limit + 3` numbers, `[head, count, size, times…]`: a ring of the instants of the last units, oldest at
 * `head`. `size` is the ring's own length, so that a key whose limit grows keeps its log.
 * Weakness: eight bytes per unit of the limit, for every key.
 */
export const slidingLog: Strategy = {
  name: 'sliding-log',
  slots: (rule) => rule.limit + times,

  check(state, at, rule, now, cost, out) {
    const count = state[at + 1]!
    const live = count - expired(state, at, rule, now)
    const over = live + cost - rule.limit
    out[0] = live < rule.limit ? rule.limit - live : 0
    out[1] = over > 0 ? timeAt(state, at, count - live + over - 1) + rule.windowMs - now : 0
    out[2] = live > 0 ? timeAt(state, at, count - 1) + rule.windowMs - now : 0
    return over <= 0
  },

  charge(state, at, rule, now, cost, out) {
    drop(state, at, expired(state, at, rule, now))
    // An empty log is as one that was never used: its ring is as long as the limit of now.
    if (state[at + 1] === 0) state[at + 2] = 0
    if (state[at + 2]! < rule.limit) widen(state, at, rule.limit)
    const units = Math.min(cost, rule.limit)
    drop(state, at, Math.max(0, state[at + 1]! + units - state[at + 2]!))
    for (let i = 0; i < units; i++) append(state, at, now)
    out[0] = Math.max(0, rule.limit - state[at + 1]!)
    out[2] = rule.windowMs
  },

  refund(state, at, rule, now, cost, chargedAt) {
    drop(state, at, expired(state, at, rule, now))
    const count = state[at + 1]!
    let end = count
    while (end > 0 && timeAt(state, at, end - 1) > chargedAt) end--
    const given = Math.min(cost, end)
    for (let i = end; i < count; i++) state[slotOf(state, at, i - given)] = timeAt(state, at, i)
    state[at + 1] = count - given
  }
}

/** Where the times begin. */
const times = 3

function slotOf(state: Float64Array, at: number, index: number): number {
  const ring = state[at]! + index
  return at + times + (ring < state[at + 2]! ? ring : ring - state[at + 2]!)
}

/** The instant of the `index`-th oldest unit. */
function timeAt(state: Float64Array, at: number, index: number): number {
  return state[slotOf(state, at, index)]!
}

/** How many of the oldest units have left the window, by bisection. */
function expired(state: Float64Array, at: number, rule: Rule, now: number): number {
  const from = now - rule.windowMs
  if (state[at + 1] === 0 || timeAt(state, at, 0) > from) return 0
  let low = 1
  let high = state[at + 1]!
  while (low < high) {
    const middle = (low + high) >>> 1
    if (timeAt(state, at, middle) > from) high = middle
    else low = middle + 1
  }
  return low
}

function drop(state: Float64Array, at: number, units: number): void {
  if (units === 0) return
  const head = state[at]! + units
  state[at] = head < state[at + 2]! ? head : head - state[at + 2]!
  state[at + 1]! -= units
}

function append(state: Float64Array, at: number, now: number): void {
  const count = state[at + 1]!
  state[at + 1] = count + 1
  state[slotOf(state, at, count)] = now
}

/** Lays the ring out anew, oldest first, in `size` slots. */
function widen(state: Float64Array, at: number, size: number): void {
  const held = Float64Array.from({ length: state[at + 1]! }, (_, i) => timeAt(state, at, i))
  state[at] = 0
  state[at + 2] = size
  state.set(held, at + times)
}
