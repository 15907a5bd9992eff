import { checkProduct, divideDown, divideUp } from '../exact.js'
import type { Rule, Strategy } from '../strategy.js'

/**
 * Promise: the count of this window plus the previous window's, weighted by how much of it a window that ends
 * now still covers, stays within the limit.
 * State: three numbers, `[window, current, previous]`; windows follow the clock.
 * Weakness: it takes the previous window's units as spread evenly. Where they were not, the units within some W
 * consecutive ms exceed the limit, by less than once the limit: there are at most `2 · limit − ⌈2 · limit / W⌉`.
 * (P units of the one window are followed by at most L − ⌈P (W − s + 1) / W⌉ up to phase s of the next; P = L, s = W − 1.)
 */
export const slidingWindow: Strategy = {
  name: 'sliding-window',
  slots: () => 3,
  validate: (rule) => checkProduct('limit', rule.limit, rule.windowMs),

  check(state, at, rule, now, cost, out) {
    const { windowMs } = rule
    const window = Math.floor(now / windowMs)
    const ahead = (window + 1) * windowMs - now
    const current = currentOf(state, at, window)
    const previous = previousOf(state, at, window)
    const room = roomOf(rule, current, previous, ahead)
    const allowed = cost <= room
    out[0] = room
    out[1] = allowed ? 0 : waitFor(rule, current, previous, ahead, cost)
    out[2] = resetOf(windowMs, current, previous, ahead)
    return allowed
  },

  charge(state, at, rule, now, cost, out) {
    const window = Math.floor(now / rule.windowMs)
    const ahead = (window + 1) * rule.windowMs - now
    const previous = previousOf(state, at, window)
    const current = currentOf(state, at, window)
    const charged = Math.max(current, Math.min(rule.limit, current + cost))
    state[at] = window
    state[at + 1] = charged
    state[at + 2] = previous
    out[0] = roomOf(rule, charged, previous, ahead)
    out[2] = resetOf(rule.windowMs, charged, previous, ahead)
  },

  cover(state, at, other, from, rule, now) {
    const window = Math.floor(now / rule.windowMs)
    const current = Math.max(currentOf(state, at, window), currentOf(other, from, window))
    const previous = Math.max(previousOf(state, at, window), previousOf(other, from, window))
    state[at] = window
    state[at + 1] = current
    state[at + 2] = previous
  },

  refund(state, at, rule, _now, cost, chargedAt) {
    const age = state[at]! - Math.floor(chargedAt / rule.windowMs)
    if (age !== 0 && age !== 1) return
    const counter = at + 1 + age
    state[counter] = Math.max(0, state[counter]! - cost)
  },

  reward(state, at, rule, now, cost) {
    const window = Math.floor(now / rule.windowMs)
    const previous = previousOf(state, at, window)
    const current = currentOf(state, at, window)
    state[at] = window
    state[at + 1] = Math.max(0, current - cost)
    state[at + 2] = Math.max(0, previous - Math.max(0, cost - current))
  }
}

function currentOf(state: Float64Array, at: number, window: number): number {
  return state[at] === window ? state[at + 1]! : 0
}

function previousOf(state: Float64Array, at: number, window: number): number {
  return state[at] === window ? state[at + 2]! : state[at] === window - 1 ? state[at + 1]! : 0
}

/** Units that fit now: the largest c with previous · ahead + (current + c) · W ≤ limit · W. */
function roomOf(rule: Rule, current: number, previous: number, ahead: number): number {
  const weight = previous === 0 ? 0 : divideUp(previous * ahead, rule.windowMs)
  return Math.max(0, rule.limit - current - weight)
}

/** The wait in closed form: within this window as the previous one fades, or within the next as this one does. */
function waitFor(rule: Rule, current: number, previous: number, ahead: number, cost: number): number {
  const { limit, windowMs } = rule
  const room = limit - current - cost
  if (room >= 0) {
    const covered = divideDown(room * windowMs, previous)
    if (covered >= 1) return ahead - covered
  }
  const faded = current === 0 ? windowMs : divideDown((limit - cost) * windowMs, current)
  return faded >= windowMs ? ahead : ahead + windowMs - faded
}

function resetOf(windowMs: number, current: number, previous: number, ahead: number): number {
  return current > 0 ? ahead + windowMs : previous > 0 ? ahead : 0
}
