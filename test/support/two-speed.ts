import type { Rule, Strategy } from '../../src/index.js'

/**
 * A bucket of the user's own: what is owed is paid back at the rate while it is more than half of the capacity, and
 * twice as fast below. State: `[debt, paid]`, in 1/W units.
 */
export const twoSpeedRules: Strategy = {
  name: 'two-speed',
  slots: () => 2,

  check(state, at, rule, now, cost, out) {
    const debt = debtOf(state, at, rule, now)
    const most = (rule.capacity - cost) * rule.windowMs
    answer(debt, rule, out)
    out[1] = debt <= most ? 0 : timeTo(most, debt, rule)
    return debt <= most
  },

  charge(state, at, rule, now, cost, out) {
    const full = rule.capacity * rule.windowMs
    state[at] = Math.min(full, debtOf(state, at, rule, now) + cost * rule.windowMs)
    state[at + 1] = now
    answer(state[at]!, rule, out)
  }
}

const halfOf = (rule: Rule) => Math.floor(rule.capacity / 2) * rule.windowMs

function debtOf(state: Float64Array, at: number, rule: Rule, now: number): number {
  const debt = state[at]!
  const paid = (now - state[at + 1]!) * rule.limit
  const over = Math.max(0, debt - halfOf(rule))
  return Math.max(0, paid <= over ? debt - paid : debt - over - 2 * (paid - over))
}

function timeTo(target: number, debt: number, rule: Rule): number {
  const half = Math.max(target, halfOf(rule))
  const slow = Math.max(0, debt - half)
  const quick = Math.max(0, Math.min(debt, half) - target)
  return Math.ceil((2 * slow + quick) / (2 * rule.limit))
}

function answer(debt: number, rule: Rule, out: Float64Array): void {
  out[0] = Math.max(0, Math.floor((rule.capacity * rule.windowMs - debt) / rule.windowMs))
  out[2] = timeTo(0, debt, rule)
}

/** Its twin in Lua. */
export const twoSpeedLua = `
local function halfOf(r) return math.floor(r.capacity / 2) * r.windowMs end
local function debtOf(s, at, r, now)
  local debt = s[at]
  local paid = (now - s[at + 1]) * r.limit
  local over = math.max(0, debt - halfOf(r))
  return math.max(0, paid <= over and debt - paid or debt - over - 2 * (paid - over))
end
local function timeTo(target, debt, r)
  local half = math.max(target, halfOf(r))
  local slow, quick = math.max(0, debt - half), math.max(0, math.min(debt, half) - target)
  return math.ceil((2 * slow + quick) / (2 * r.limit))
end
local function remainingOf(debt, r) return math.max(0, math.floor((r.capacity * r.windowMs - debt) / r.windowMs)) end
return {
  check = function(s, at, r, now, cost)
    local debt = debtOf(s, at, r, now)
    local most = (r.capacity - cost) * r.windowMs
    return debt <= most, remainingOf(debt, r), debt <= most and 0 or timeTo(most, debt, r), timeTo(0, debt, r)
  end,
  charge = function(s, at, r, now, cost)
    s[at] = math.min(r.capacity * r.windowMs, debtOf(s, at, r, now) + cost * r.windowMs)
    s[at + 1] = now
    return remainingOf(s[at], r), timeTo(0, s[at], r)
  end
}`
