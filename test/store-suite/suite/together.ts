import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decisionOf } from '../../../src/core/decision.js'
import type { WindowOptions } from '../../../src/core/policy-options.js'
import { Together } from '../../../src/core/together.js'
import { modelOf } from '../../support/models.js'
import { decide, type Model, remainingOf, resetOf, waitOf } from '../../support/reference.js'
import { plain, policyNames, runs, smallPolicy, starts } from '../../support/traces.js'
import { clockedStore, limiterIn, type MakeStore } from '../clocked-store.js'

/** What one of several limiters is asked: in which part, for whom, and how much. */
interface Asked {
  readonly key: string
  readonly cost: number
}

const anyAsked = (parts: number) =>
  fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), cost: fc.integer({ min: 0, max: 3 }) }), {
    minLength: parts,
    maxLength: parts
  })

const anyStep = (parts: number) =>
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 5000 })),
    asked: anyAsked(parts)
  })

const anyPart = fc
  .constantFrom(...policyNames.filter((name) => name !== 'leaky-bucket'))
  .chain((name) => smallPolicy(name))

const anyCase = fc.array(anyPart, { minLength: 2, maxLength: 3 }).chain((policies) =>
  fc.record({
    policies: fc.constant(policies),
    start: starts,
    steps: fc.array(anyStep(policies.length), { minLength: 1, maxLength: 12 })
  })
)

/** Limiters of one store that decide together, each by a key and a cost of its own. */
export function togetherCases(name: string, makeStore: MakeStore): void {
  const opened = (policies: readonly WindowOptions[], start: number, settings: object = {}) => {
    const at = clockedStore(makeStore, start)
    const limiters = policies.map((policy, i) =>
      limiterIn(at, { ...policy, ...settings, name: `part-${i}` } as never)
    )
    const ask = (asked: readonly Asked[]) =>
      new Together(
        limiters.map((limiter, i) => ({ limiter, policies: limiter.policies, ...asked[i]!, at: [i] }))
      )
    return { ...at, ask, limiters }
  }

  describe(`${name}: several limiters together`, () => {
    it(
      'admit what each would admit, and charge all or none',
      () =>
        fc.assert(
          fc.asyncProperty(anyCase, async ({ policies, start, steps }) => {
            const { clock, ask } = opened(policies, start)
            const models = new Map<string, Model>()
            const modelFor = (part: number, key: string) => {
              const id = `${part} ${key}`
              const model = models.get(id) ?? modelOf(policies[part]!)
              models.set(id, model)
              return model
            }
            for (const { gap, asked } of steps) {
              clock.time += gap
              const now = clock.time
              const own = asked.map(({ key }, i) => modelFor(i, key))
              const admits = own.map((model, i) => asked[i]!.cost === 0 || model.admits(asked[i]!.cost, now))
              const isAllowed = admits.every(Boolean)
              const expected = own.map((model, i) => {
                const { cost } = asked[i]!
                if (isAllowed && cost > 0) return decide(model, cost, now)
                return {
                  allowed: admits[i]!,
                  limit: model.capacity,
                  remaining: remainingOf(model, now),
                  retryAfterMs: cost === 0 ? 0 : waitOf(model, cost, now),
                  resetMs: resetOf(model, now)
                }
              })
              const verdict = await ask(asked).take()
              expect(verdict.isAllowed).toBe(isAllowed)
              expect(decisionOf(verdict, false).tiers.map(plain)).toEqual(expected)
            }
          }),
          runs(25)
        ),
      60_000
    )

    const two = [
      { limit: 3, window: '1m' },
      { limit: 5, window: '1m' }
    ] as const
    const start = 1_700_000_400_000
    const both = (cost: number) => [
      { key: 'a', cost },
      { key: 'b', cost }
    ]

    it('charge all what is denied, where that is asked for', async () => {
      const { ask } = opened(two, start, { countDenied: true })
      expect((await ask(both(2)).take()).isAllowed).toBe(true)
      const denied = decisionOf(await ask(both(2)).take(), false)
      expect(denied).toMatchObject({ allowed: false })
      expect(denied.tiers.map(({ remaining }) => remaining)).toEqual([0, 1])
    })

    it('block the keys that deny, and no others', async () => {
      const { ask, limiters, clock } = opened(two, start, { block: '1h' })
      await ask(both(3)).take()
      expect(await ask(both(1)).take()).toMatchObject({ isAllowed: false })
      clock.time += 61_000
      expect(await ask(both(1)).take()).toMatchObject({ isAllowed: false, isBlocked: true })
      expect(await limiters[0]!.peek('a')).toMatchObject({ allowed: false })
      expect(await limiters[1]!.peek('b')).toMatchObject({ allowed: true, remaining: 5 })
    })

    it('give all back, each what it charged', async () => {
      const { ask, limiters } = opened(two, start)
      const together = ask([
        { key: 'a', cost: 2 },
        { key: 'b', cost: 4 }
      ])
      const { receipts, at, source } = await together.take()
      await together.giveBack('', 0, [], { at, source, receipts })
      expect(await limiters[0]!.peek('a')).toMatchObject({ remaining: 3 })
      expect(await limiters[1]!.peek('b')).toMatchObject({ remaining: 5 })
    })

    it('hold what they are asked for at once', async () => {
      const { ask, limiters } = opened(two, start)
      const asked = Array.from({ length: 8 }, (_, i) => [
        { key: 'a', cost: 1 },
        { key: `b${i % 2}`, cost: 1 }
      ])
      const verdicts = await Promise.all(asked.map((each) => ask(each).take()))
      expect(verdicts.filter(({ isAllowed }) => isAllowed)).toHaveLength(3)
      const left = await Promise.all(['b0', 'b1'].map((key) => limiters[1]!.peek(key)))
      expect(left.reduce((sum, { remaining }) => sum + remaining, 0)).toBe(7)
    })
  })
}
