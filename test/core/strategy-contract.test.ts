import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { definePolicy, withLimit } from '../../src/core/policy.js'
import { probe } from '../../src/core/strategy-probe.js'
import { createLimiter, defineStrategy, memoryStore, type Rule, type Strategy } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { anyPolicy, policyNames } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'

/** A fixed window that opens with its first request, by the book. */
const good: Strategy = {
  name: 'good',
  slots: () => 2,
  check(state, at, rule, now, cost, out) {
    const open = now < state[at]!
    const count = open ? state[at + 1]! : 0
    out[0] = rule.limit - count
    out[1] = cost <= out[0] ? 0 : state[at]! - now
    out[2] = count === 0 ? 0 : state[at]! - now
    return out[1] === 0
  },
  charge(state, at, rule, now, cost, out) {
    if (now >= state[at]! || state[at + 1] === 0) {
      state[at] = now + rule.windowMs
      state[at + 1] = 0
    }
    state[at + 1] = Math.min(rule.limit, state[at + 1]! + cost)
    out[0] = rule.limit - state[at + 1]!
    out[2] = state[at]! - now
  },
  refund(state, at, _rule, now, cost) {
    if (now < state[at]!) state[at + 1] = Math.max(0, state[at + 1]! - cost)
  }
}

type Check = Strategy['check']
type Charge = Strategy['charge']

/** `check` with something done to what it has written. */
const checkThen =
  (
    change: (out: Float64Array, allowed: boolean, state: Float64Array, at: number) => boolean | undefined
  ): Check =>
  (state, at, rule, now, cost, out) => {
    const allowed = good.check(state, at, rule, now, cost, out)
    return change(out, allowed, state, at) ?? allowed
  }

const chargeThen =
  (change: (out: Float64Array, state: Float64Array, at: number, rule: Rule) => void): Charge =>
  (state, at, rule, now, cost, out) => {
    good.charge(state, at, rule, now, cost, out)
    change(out, state, at, rule)
  }

let calls = 0

function set(numbers: Float64Array, index: number, value: number): undefined {
  numbers[index] = value
}

const breaches: readonly (readonly [string, Partial<Strategy>, string])[] = [
  [
    'charges in `check`',
    {
      check: (state, at, rule, now, cost, out) => {
        const allowed = good.check(state, at, rule, now, cost, out)
        if (allowed) good.charge(state, at, rule, now, cost, out)
        return allowed
      }
    },
    '`check` wrote into `state`'
  ],
  [
    'writes where it denies',
    {
      check: checkThen((_out, allowed, state, at) => {
        if (!allowed) state[at]!++
        return undefined
      })
    },
    '`check` wrote into `state`'
  ],
  [
    'goes below 0',
    {
      check: (state, at, rule, now, cost, out) => {
        good.check(state, at, rule, now, cost, out)
        // Admits one more than there is.
        if (cost > out[0]! + 1) return false
        out[1] = 0
        return true
      },
      charge: (state, at, rule, now, cost, out) => {
        good.charge(state, at, { ...rule, limit: rule.limit + 1 }, now, cost, out)
        out[0] = rule.limit - state[at + 1]!
      }
    },
    'remain'
  ],
  ['has more than the capacity', { check: checkThen((out) => set(out, 0, out[0]! + 1)) }, '`out[0]`'],
  ['says NaN', { check: checkThen((out) => set(out, 0, Number.NaN)) }, '`check` wrote NaN into `out[0]`'],
  ['leaves a number out', { check: checkThen((out) => set(out, 2, Number.NaN)) }, '`out[2]`'],
  ['has a fraction of a unit', { check: checkThen((out) => set(out, 0, out[0]! - 0.5)) }, '`out[0]`'],
  [
    'waits for a fraction of a ms',
    { check: checkThen((out, allowed) => set(out, 1, allowed ? 0 : out[1]! + 0.25)) },
    '`out[1]`'
  ],
  ['denies without a wait', { check: checkThen((out) => set(out, 1, 0)) }, '`out[1]`'],
  ['admits with a wait', { check: checkThen((out) => set(out, 1, 5)) }, '`out[1]`'],
  [
    'denies once more after the wait',
    { check: checkThen((out, allowed) => set(out, 1, allowed ? 0 : 1)) },
    'denied again after them'
  ],
  ['has a negative reset', { check: checkThen((out) => set(out, 2, out[2]! - 1e12)) }, '`out[2]`'],
  [
    'is not as new after its reset',
    {
      check: checkThen((out) => set(out, 2, out[2]! > 0 ? 1 : 0)),
      charge: chargeThen((out) => set(out, 2, 1))
    },
    'as one of zeros'
  ],
  [
    'keeps what is left',
    {
      check: (state, at, _rule, _now, cost, out) => {
        out.set([state[at]!, cost <= state[at]! ? 0 : 1000, 0])
        return cost <= state[at]!
      }
    },
    'a bucket of zeros is a new key'
  ],
  [
    'charges nothing',
    { charge: (_state, _at, rule, _now, _cost, out) => out.set([rule.limit, 0, 0]) },
    'after a charge'
  ],
  [
    'tells another rest than `check`',
    { charge: chargeThen((out) => set(out, 0, 0)) },
    '`charge` wrote that 0 remain'
  ],
  [
    'is not deterministic',
    { check: checkThen((out) => set(out, 2, out[2]! + (calls++ % 7))) },
    'to the same question'
  ],
  [
    'keeps state of its own',
    {
      charge: chargeThen((_out, state, at) => {
        state[at]! += calls++
      })
    },
    ''
  ],
  [
    'writes beyond its slots',
    { charge: chargeThen((_out, state, at) => set(state, at + 2, 1)) },
    'beyond its slots'
  ],
  [
    'writes NaN',
    { slots: () => 3, charge: chargeThen((_out, state, at) => set(state, at + 2, Number.NaN)) },
    'NaN'
  ],
  ['is async', { check: (async () => true) as never }, 'true or false, at once'],
  ['returns nothing', { check: (() => {}) as never }, 'true or false, at once'],
  ['takes what it does not admit', { take: () => true }, '`take`'],
  ['refunds too much', { refund: (state, at) => void state.fill(0, at, at + 2) }, 'a refund of'],
  ['takes more by a refund', { refund: (state, at) => set(state, at + 1, state[at + 1]! + 1) }, ''],
  ['does not cover', { cover: () => {} }, '`cover`'],
  ['grows past its slots', { growth: { needs: () => 9, thin: () => {} } }, '`growth.needs` returned 9'],
  ['reads what it does not need', { growth: { needs: () => 1, thin: () => {} } }, ''],
  [
    'cannot be thinned',
    { slots: () => 4, growth: { needs: (state, at) => (state[at] === 0 ? 2 : 4), thin: () => {} } },
    'after `growth.thin` to 2 slots a bucket needed 4'
  ],
  [
    'forgets when it is thinned',
    {
      slots: () => 4,
      growth: {
        needs: (state, at) => (state[at] === 0 ? 2 : 4),
        thin: (state, at) => void state.fill(0, at, at + 2)
      }
    },
    'laxer'
  ],
  ['has no capacity', { capacity: () => Number.NaN }, 'capacity'],
  ['has a delay that is none', { shapes: true }, '`out[3]`']
]

describe('a strategy that', () => {
  it('says half of how it grows is refused by the name of the part', () => {
    for (const growth of [{}, { needs: () => 2 }, null, 5])
      expect(() => defineStrategy({ ...good, name: 'half', growth } as never)).toThrow(
        naming('HEADGATE_BAD_OPTION', 'growth')
      )
  })

  it.each(breaches)('%s is refused where a limiter is made, with the rule', (what, parts, rule) => {
    const strategy = { ...good, name: what, ...parts }
    const refused = naming('HEADGATE_BAD_STRATEGY', `'${what}'`, rule)
    for (const limit of [2, 3, 1000])
      for (const window of [7, '1m', '1d'])
        expect(
          () => createLimiter({ strategy, limit, window, now: () => 0 }),
          `${limit} in ${window}`
        ).toThrow(refused)
  })

  it.each(breaches)(
    '%s is refused also by its name, as a tier, and under a limit that is a function',
    (what, parts, rule) => {
      const strategy = defineStrategy({ ...good, name: `defined: ${what}`, ...parts })
      const refused = naming('HEADGATE_BAD_STRATEGY', rule)
      const policy = { limit: 3, window: '1m', strategy: strategy.name }
      expect(() => createLimiter({ ...policy, store: memoryStore() })).toThrow(refused)
      expect(() => createLimiter({ limits: [{ limit: 5, window: '1s' }, policy] })).toThrow(refused)
      expect(() => withLimit(definePolicy({ ...policy, limit: 1 }), 5)).toThrow(refused)
    }
  )

  it('keeps to it is taken, whatever the limit', () => {
    for (const strategy of [good, twoSpeedRules])
      for (const limit of [1, 2, 3, 10, 1000])
        for (const window of [1, 7, '1s', '1m', '30d'])
          expect(() => createLimiter({ strategy, limit, window, now: () => 0 })).not.toThrow()
  })

  it('throws by itself does so where it is asked', () => {
    const strategy: Strategy = {
      ...good,
      name: 'throwing',
      check: () => {
        throw new Error('mine')
      }
    }
    const limiter = createLimiter({ strategy, limit: 3, window: '1m' })
    expect(() => limiter.consume('key')).toThrow('mine')
  })
})

describe.each(policyNames)('%s', (name) => {
  it('keeps to the contract', () => {
    fc.assert(
      fc.property(anyPolicy[name]!, (policy) => {
        for (const made of createLimiter({ ...policy, now: () => 0 }).policies)
          expect(() => probe(made)).not.toThrow()
      }),
      { numRuns: 30 }
    )
  })
})
