import { countingPolicy, type Policy } from '../policy.js'
import type { Strategy } from '../strategy.js'
import type { BanTerms } from './ban-terms.js'

/**
 * What is remembered of a key that was denied: `[strikes, end, lastMs, until]`. So many denials since the first of those
 * that count, which no longer do after `end`; how long its last ban was, and until when it is, or was. Each unit that is
 * charged is a denial; what is written as the delay is for how long that bans the key, 0 if it does not. A strike at a
 * key that is banned counts for nothing, and says what is left of the ban: so of denials that come at once one bans, and
 * one whose ban did not reach the key for a crash is made up for. A refund ends the ban at once, and forgives the strikes.
 */
const slots = 4

/** Terms by the strategy that goes by them, which Redis writes into its Lua. */
const termsOf = new WeakMap<Strategy, BanTerms>()

/** Strategies by their terms: limiters that share a name have the same one. */
const known = new Map<string, Strategy>()

/** The terms of a strategy that remembers denials; undefined for any other. */
export function banTermsOf(strategy: Strategy): BanTerms | undefined {
  return termsOf.get(strategy)
}

/** The policy by which the denials of a limiter are counted, under a name of its own. */
export function banPolicy(name: string, terms: BanTerms): Policy {
  return countingPolicy({ name, strategy: banRecord(terms), limit: terms.after, windowMs: terms.withinMs })
}

function banRecord(terms: BanTerms): Strategy {
  const { firstMs, growth, longestMs, forgetMs } = terms
  const name = `ban-record:${[firstMs, growth, longestMs, forgetMs].join(':')}`
  const strategy = known.get(name) ?? recordBy(name, terms)
  known.set(name, strategy)
  termsOf.set(strategy, terms)
  return strategy
}

function recordBy(name: string, { firstMs, growth, longestMs, forgetMs }: BanTerms): Strategy {
  const check: Strategy['check'] = (state, at, rule, now, _cost, out) => {
    const isBanned = now < state[at + 3]!
    const strikes = now < state[at + 1]! ? state[at]! : 0
    const knownMs = state[at + 2]! > 0 ? state[at + 3]! + forgetMs - now : 0
    out[0] = isBanned ? 0 : Math.max(0, rule.limit - strikes)
    out[1] = 0
    out[2] = Math.max(0, knownMs, strikes > 0 ? state[at + 1]! - now : 0)
    out[3] = 0
    return true
  }
  return {
    name,
    shapes: true,
    sharesNothing: true,
    slots: () => slots,
    check,

    charge(state, at, rule, now, cost, out) {
      let banMs = Math.max(0, state[at + 3]! - now)
      if (banMs === 0) {
        if (now >= state[at + 1]!) {
          state[at] = 0
          state[at + 1] = now + rule.windowMs
        }
        state[at]! += cost
        if (state[at]! >= rule.limit) {
          const lastMs = state[at + 2]!
          const isRepeat = lastMs > 0 && now < state[at + 3]! + forgetMs
          banMs = isRepeat ? Math.min(longestMs, Math.ceil(lastMs * growth)) : firstMs
          state[at] = 0
          state[at + 1] = 0
          state[at + 2] = banMs
          state[at + 3] = now + banMs
        }
      }
      check(state, at, rule, now, 1, out)
      out[3] = banMs
    },

    refund(state, at, _rule, now) {
      state[at] = 0
      state[at + 1] = 0
      state[at + 3] = Math.min(state[at + 3]!, now)
    }
  }
}
