import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import { modelOf } from '../support/models.js'
import { decide } from '../support/reference.js'
import { runs } from '../support/traces.js'

/** What counts units; `gcra` keeps the time that is owed, which is as many units as the limit at hand makes of it. */
const strategies = [
  { strategy: 'fixed-window' },
  { strategy: 'sliding-window' },
  { strategy: 'sliding-log' },
  { strategy: 'token-bucket', burst: 5 }
] as const
const names = ['free', 'pro', 'team'] as const
const start = 1_700_000_400_000

const anyStep = fc.record({
  plan: fc.constantFrom(...names),
  cost: fc.integer({ min: 1, max: 3 }),
  gap: fc.integer({ min: 0, max: 40_000 })
})

const options = (plans: unknown, more: object = {}) =>
  ({
    key: () => 'k',
    plan: ({ headers }: { headers: { plan?: string } }) => headers.plan,
    plans,
    ...more
  }) as never

describe('plans of one shape', () => {
  it.each(strategies)('keep what a key has used, by $strategy', (rule) => {
    fc.assert(
      fc.property(
        fc.tuple(...names.map(() => fc.integer({ min: 1, max: 8 }))),
        fc.array(anyStep, { minLength: 1, maxLength: 20 }),
        (limits, steps) => {
          let now = start
          const plans = Object.fromEntries(
            names.map((name, i) => [name, { limit: limits[i]!, window: '1m', ...rule }])
          )
          const { limiter } = rateLimit(options(plans, { now: () => now }))
          // What computed limits mean is defined by the reference; a plan is one of them.
          const model = modelOf({ limit: limits[0]!, window: 60_000, ...rule })
          for (const { plan, cost, gap } of steps) {
            now += gap
            model.limit = limits[names.indexOf(plan)]!
            const expected = decide(model, cost, now)
            const { allowed, limit, remaining, retryAfterMs } = limiter.consume(
              { headers: { plan } } as never,
              cost
            ) as typeof expected
            expect({ allowed, limit, remaining, retryAfterMs }).toEqual({
              allowed: expected.allowed,
              limit: expected.limit,
              remaining: expected.remaining,
              retryAfterMs: expected.retryAfterMs
            })
          }
        }
      ),
      runs(100)
    )
  })
})

describe('plans that cannot work', () => {
  const free = { limit: 1, window: '1h' }
  it.each<[string, object, string]>([
    ['no plan function', options({ free }, { plan: undefined }), '`plan` is undefined'],
    ['no plans', options({}), '`plans` is an object: give'],
    ['a list', options([free]), '`plans` is an array of 1'],
    ['a plan that is nothing', options({ free: null }), '`plans.free` is null'],
    ['an empty list', options({ free: { limits: [] } }), '`plans.free.limits` is an array of 0'],
    [
      'a limit beside a list',
      options({ free: { limits: [free], window: '1h' } }),
      '`plans.free.window` is "1h"'
    ],
    ['a shadow', options({ free: { ...free, shadow: true } }), '`plans.free.shadow` is true'],
    ['a default that is none', options({ free }, { defaultPlan: 'fre' }), "did you mean 'free'?"],
    ['a misspelt option', options({ free: { ...free, windw: 1 } }), 'did you mean `window`?'],
    ['a bad limit', options({ free: { limit: -1, window: '1h' } }), '`limit` is -1'],
    ['a limit beside plans', options({ free }, { limit: 1 }), '`limit`'],
    ['a plan without plans', { limit: 1, window: '1h', plan: () => 'free' }, 'which of `plans` holds']
  ])('%s', (_name, given, message) => {
    expect(() => rateLimit(given as never)).toThrow(message)
  })
})
