import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { modelOf } from '../support/models.js'
import { runs } from '../support/traces.js'
import { manualTime } from './support/manual-time.js'
import { processes } from './support/processes.js'
import { freshPrefix, servers } from './support/stores.js'

const processOn = processes()
const start = 1_700_000_040_000
const limit = 12
const windowMs = 40
const lease = 3
const asks = fc.array(
  fc.tuple(fc.nat(2), fc.double({ min: 0, max: 25, noNaN: true }), fc.integer({ min: 1, max: 4 }), fc.nat(6)),
  { minLength: 10, maxLength: 60 }
)

/** Most units that a strategy charges in a span of so many ms, both ends included. */
function most({ strategy }: WindowOptions, spanMs: number): number {
  if (strategy === 'sliding-log') return limit * (Math.floor(spanMs / windowMs) + 1)
  // Two windows beside each other share what their weights leave; the first may be full at its end.
  if (strategy === 'sliding-window') return limit * (Math.floor(spanMs / windowMs) + 2)
  return (
    modelOf({ strategy: strategy!, limit, window: windowMs }).capacity +
    Math.floor((limit * spanMs) / windowMs)
  )
}

describe.skipIf(servers === null)('leases of three processes', () => {
  const time = manualTime(start)

  /** Units that were admitted when, ms after the start. */
  async function play(policy: object, drawn: readonly (readonly [number, number, number, number])[]) {
    time.ms = 0
    const prefix = freshPrefix()
    const three = [0, 1, 2].map(() => processOn(time.clock, { ...policy, lease }, prefix))
    const log: { readonly at: number; readonly cost: number }[] = []
    for (const [which, by, cost, more] of drawn) {
      time.ms += by
      const at = time.clock() - start
      const costs = more === 0 ? [cost, 1, 1, 2] : [cost]
      const decisions = await Promise.all(costs.map((units) => three[which]!.limiter.consume('key', units)))
      decisions.forEach(({ allowed }, i) => {
        if (allowed) log.push({ at, cost: costs[i]! })
      })
    }
    await Promise.all(three.map(({ store }) => store.close()))
    return log
  }

  const unitsOf = (log: readonly { cost: number }[]) => log.reduce((sum, { cost }) => sum + cost, 0)

  it('never admit more than the limit in a fixed window', async () => {
    await fc.assert(
      fc.asyncProperty(asks, async (drawn) => {
        const log = await play({ limit, window: windowMs }, drawn)
        const windowOf = ({ at }: { at: number }) => Math.floor((start + at) / windowMs)
        for (const window of new Set(log.map(windowOf)))
          expect(unitsOf(log.filter((units) => windowOf(units) === window))).toBeLessThanOrEqual(limit)
      }),
      runs(60)
    )
  })

  it.each(['token-bucket', 'gcra', 'sliding-log', 'sliding-window'])(
    'admit in any span at most N · lease more than the limit of %s',
    async (strategy) => {
      const policy = { strategy, limit, window: windowMs }
      await fc.assert(
        fc.asyncProperty(asks, async (drawn) => {
          const log = await play(policy, drawn)
          log.forEach(({ at: from }, i) => {
            let units = 0
            for (const { at, cost } of log.slice(i)) {
              units += cost
              expect(units, `${from} to ${at}`).toBeLessThanOrEqual(most(policy, at - from) + 3 * lease)
            }
          })
        }),
        runs(40)
      )
    }
  )
})
