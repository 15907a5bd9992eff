import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/core/decision.js'
import { createLimiter } from '../../src/stores/create-limiter.js'

interface Expected {
  allowed: boolean
  limit: number
  remaining: number
  retryAfterMs: number | null
  resetMs: number
  delayMs?: number
}
interface Config {
  strategy: string
  limit: number
  windowMs: number
  burst?: number
  align?: 'clock' | 'first-request'
  delayAfter?: number
}
interface Case<C, E> {
  name: string
  config: C
  steps: [at: number, cost: number, expected: E][]
}

const folder = new URL('../vectors/decisions/', import.meta.url)
const read = (file: string) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))

const options = ({ windowMs, ...rest }: Config) => ({ ...rest, window: windowMs })
const wanted = (e: Expected) => ({ ...e, retryAfterMs: e.retryAfterMs ?? Number.POSITIVE_INFINITY })

/** A decision's own fields, so that nothing may be missing or too many. */
const plain = (decision: Decision) => ({ ...decision })

for (const file of readdirSync(folder).filter((name) => name !== 'tiers.json')) {
  describe(file, () => {
    it.each((read(file) as Case<Config, Expected>[]).map((c) => [c.name, c] as const))(
      '%s',
      (_, { config, steps }) => {
        let now = 0
        const limiter = createLimiter({ ...options(config), now: () => now })
        for (const [at, cost, expected] of steps) {
          now = at
          const decision = cost === 0 ? limiter.peek('key') : limiter.consume('key', cost)
          expect(plain(decision), `at ${at}, cost ${cost}`).toEqual(wanted(expected))
        }
      }
    )
  })
}

describe('tiers.json', () => {
  const cases = read('tiers.json') as Case<Config[], { allowed: boolean; each: Expected[] }>[]
  it.each(cases.map((c) => [c.name, c] as const))('%s', (_, { config, steps }) => {
    let now = 0
    const limits = config.map((tier, i) => ({ ...options(tier), name: `tier-${i}` }))
    const limiter = createLimiter({ limits, now: () => now })
    for (const [at, cost, expected] of steps) {
      now = at
      const decision = cost === 0 ? limiter.peek('key') : limiter.consume('key', cost)
      expect(decision.allowed).toBe(expected.allowed)
      expect(decision.tiers.map(plain), `at ${at}, cost ${cost}`).toEqual(expected.each.map(wanted))
    }
  })
})
