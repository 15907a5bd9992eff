import type { Strategy } from '../../../src/index.js'

/** Numbers that a key has. */
const slots = 200

/** How often the numbers of a key were not all the same. */
export const seen = { torn: 0 }

/** Counts without end in many numbers, which are all the same unless they are read while they are written. */
export const uniformRules: Strategy = {
  name: 'uniform',
  slots: () => slots,
  check(state, at, rule, _now, cost, out) {
    for (let i = 1; i < slots; i++)
      if (state[at + i] !== state[at]) {
        seen.torn++
        break
      }
    out[0] = rule.limit - state[at]!
    out[1] = cost <= out[0]! ? 0 : Number.POSITIVE_INFINITY
    out[2] = state[at]! > 0 ? Number.POSITIVE_INFINITY : 0
    return cost <= out[0]!
  },
  charge(state, at, rule, _now, cost, out) {
    state.fill(Math.min(rule.limit, state[at]! + cost), at, at + slots)
    out[0] = rule.limit - state[at]!
    out[2] = Number.POSITIVE_INFINITY
  }
}
