import type { Rule, Strategy } from '../strategy.js'
import { fixedWindow } from './fixed-window.js'
import { slidingWindow } from './sliding-window.js'

/*
 * What a limit of `Infinity` means beside `delay`: nothing is denied, and everything is counted. A store sees a large
 * limit. Where a key comes to it, it stays there and is admitted all the same.
 */

/** Up to this many units the replies of Redis and all products stay exact. */
const mostUnits = 2 ** 49

/** The number of units up to which a window counts. */
export function endlessLimit(windowMs: number): number {
  return Math.min(mostUnits, Math.floor(Number.MAX_SAFE_INTEGER / windowMs))
}

const windows: readonly Strategy[] = [fixedWindow, slidingWindow]

/** Those windows, as they are without a limit. */
export const endlessWindows: readonly Strategy[] = windows.map((window) => ({
  ...window,
  check(state: Float64Array, at: number, rule: Rule, now: number, cost: number, out: Float64Array) {
    window.check(state, at, rule, now, cost, out)
    out[0] = Math.max(out[0]!, cost)
    out[1] = 0
    return true
  }
}))

/** A strategy without a limit; undefined if it has none. */
export function endlessOf(strategy: Strategy): Strategy | undefined {
  return endlessWindows.includes(strategy) ? strategy : endlessWindows[windows.indexOf(strategy)]
}

/** The strategy that has a limit. */
export function limitedOf(strategy: Strategy): Strategy {
  return windows[endlessWindows.indexOf(strategy)] ?? strategy
}
