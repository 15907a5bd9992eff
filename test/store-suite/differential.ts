import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { memoryStore } from '../../src/index.js'
import { anyPolicy, policyNames, runs, smallPolicy, starts } from '../support/traces.js'
import { limiterIn, type MakeStore, type Suited } from './clocked-store.js'
import { anyDraws, type Draw, type DrawOptions, perform, Standing, said, showLowest } from './operations.js'

/** What a differential test does beyond the usual. */
export interface DifferentialOptions {
  /** Let the clock step back, too. What a new key then takes for the time is each store's own matter. */
  readonly stepsBack?: boolean
}

const anyBan = fc.record({
  after: fc.integer({ min: 1, max: 3 }),
  within: fc.integer({ min: 1000, max: 9000 }),
  for: fc.integer({ min: 1000, max: 3000 }),
  growth: fc.constantFrom(1.3, 2),
  forget: fc.integer({ min: 1000, max: 20_000 })
})

const settings = fc
  .record({
    block: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    ban: fc.option(anyBan, { nil: undefined }),
    countDenied: fc.boolean()
  })
  .map(({ ban, block, countDenied }) => ({ countDenied, ...(block === undefined ? { ban } : { block }) }))

const anyTier = fc.constantFrom(...policyNames).chain((name) => fc.oneof(anyPolicy[name]!, smallPolicy(name)))
const smallTier = fc.constantFrom(...policyNames).chain(smallPolicy)

const tiersOf = (tier: fc.Arbitrary<WindowOptions>) =>
  fc
    .array(tier, { minLength: 2, maxLength: 3 })
    .map((tiers) => tiers.map((policy, i) => ({ ...policy, name: `tier-${i}` })))

const one = (policies: fc.Arbitrary<WindowOptions>) => policies.map((policy) => [policy])

/** Random traces on a memory store and on another: they answer alike, step by step. */
export function differential(
  name: string,
  makeStore: MakeStore,
  numRuns: number,
  { stepsBack = false }: DifferentialOptions = {}
): void {
  /** Shrinking takes about as many runs again, and a store outside of the process a round trip a step. */
  const timeout = 20_000 + 200 * runs(numRuns).numRuns

  const agree = (limits: fc.Arbitrary<WindowOptions[]>, options: Partial<DrawOptions>) =>
    fc.assert(
      fc.asyncProperty(
        limits,
        settings,
        starts,
        anyDraws({ varies: false, stepsBack: false, ...options }),
        (tiers, extra, start, draws) =>
          compare({ makeStore, ...options }, { limits: tiers, ...extra }, start, draws)
      ),
      runs(numRuns)
    )

  describe.each(policyNames)(`${name}, as memory: %s`, (policy) => {
    const small = one(smallPolicy(policy))

    it('answers each step', () => agree(fc.oneof(small, one(anyPolicy[policy]!)), {}), timeout)
    it('under computed limits', () => agree(small, { varies: true }), timeout)
    if (stepsBack) it('on a clock that steps back', () => agree(small, { stepsBack }), timeout)
  })

  describe(`${name}, as memory: several policies`, () => {
    it('answer each step', () => agree(tiersOf(anyTier), {}), timeout)
    it('under computed limits', () => agree(tiersOf(smallTier), { varies: true }), timeout)
    if (stepsBack) it('on a clock that steps back', () => agree(tiersOf(smallTier), { stepsBack }), timeout)
  })
}

async function compare(
  { makeStore, varies = false }: { readonly makeStore: MakeStore; readonly varies?: boolean },
  options: Suited & { readonly limits: readonly WindowOptions[] },
  start: number,
  draws: readonly Draw[]
): Promise<void> {
  const clock = { time: start }
  const memory = limiterIn({ store: memoryStore(), clock }, options)
  const other = limiterIn({ store: makeStore(() => clock.time), clock }, options)
  if (varies) for (const limiter of [memory, other]) await showLowest(limiter)
  const fresh = await memory.peek('key')
  expect(said({ decision: await other.peek('key') }), 'at first').toEqual(said({ decision: fresh }))
  const standing = new Standing(start, fresh)
  for (const [i, draw] of draws.entries()) {
    const deed = standing.next(draw, options.limits[draw.step.n % options.limits.length]!.window as number)
    clock.time = standing.now
    const expected = await perform(memory, deed)
    const message = `step ${i}: ${Object.values(deed).join(' ')} at ${standing.now}`
    expect(said(await perform(other, deed)), message).toEqual(said(expected))
    standing.see(expected.decision)
  }
}
