import type { Strategy } from '../strategy.js'

/** What a limit function's 0 means: nothing is ever admitted. */
export const closed: Strategy = {
  name: 'closed',
  slots: () => 0,
  check: (_state, _at, _rule, _now, _cost, out) => answer(out, 0, Number.POSITIVE_INFINITY),
  charge: (_state, _at, _rule, _now, _cost, out) => void answer(out, 0, Number.POSITIVE_INFINITY)
}

/** What a limit function's `Infinity` means: everything is admitted, nothing is counted. */
export const open: Strategy = {
  name: 'open',
  slots: () => 0,
  check: (_state, _at, _rule, _now, _cost, out) => answer(out, Number.POSITIVE_INFINITY, 0),
  charge: (_state, _at, _rule, _now, _cost, out) => void answer(out, Number.POSITIVE_INFINITY, 0)
}

function answer(out: Float64Array, remaining: number, retryAfterMs: number): boolean {
  out[0] = remaining
  out[1] = retryAfterMs
  out[2] = 0
  out[3] = 0
  return retryAfterMs === 0
}
