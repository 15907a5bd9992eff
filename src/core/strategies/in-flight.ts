import type { Strategy } from '../strategy.js'

/**
 * What `concurrency` means: at most `limit` units are in flight at once. There is no window: what is taken comes back when
 * it is released, and nobody knows beforehand when that is. So the wait of what is denied, and the time until all is free,
 * are `NaN`.
 *
 * State: one number, the units in flight. It is none of the numbers of a bucket, which are forgotten and estimated as
 * windows allow; what is in flight is counted apart, exactly (`src/core/permit-buckets.ts`).
 */
export const inFlight: Strategy = {
  name: 'concurrency',
  slots: () => 0,
  check: (state, at, { capacity }, _now, cost, out) => {
    const free = Math.max(0, capacity - state[at]!)
    const isAllowed = cost <= free
    out[0] = free
    out[1] = isAllowed ? 0 : Number.NaN
    out[2] = state[at] === 0 ? 0 : Number.NaN
    out[3] = 0
    return isAllowed
  },
  charge: (state, at, { capacity }, _now, cost, out) => {
    state[at]! += cost
    out[0] = Math.max(0, capacity - state[at]!)
    out[2] = Number.NaN
  }
}
