import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { plain } from '../support/traces.js'
import { askFor, clockedStore, limiterIn, type MakeStore, type Suited } from './clocked-store.js'

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
type Step<E> = readonly [at: number, cost: number, expected: E]
interface Case<C, E> {
  name: string
  config: C
  steps: Step<E>[]
}

const folder = new URL('../vectors/decisions/', import.meta.url)
const files = readdirSync(folder).filter((name) => name !== 'tiers.json')

/** The cases of a file, by name. */
const read = <C, E>(file: string) =>
  (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Case<C, E>[]).map((c) => [c.name, c] as const)

const options = ({ windowMs, ...rest }: Config) => ({ ...rest, window: windowMs })
const wanted = (e: Expected) => ({ ...e, retryAfterMs: e.retryAfterMs ?? Number.POSITIVE_INFINITY })

/** The decisions written down in `test/vectors/decisions`, each case on an empty store. */
export function vectorSuite(name: string, makeStore: MakeStore): void {
  async function play<E>(
    config: Suited,
    steps: readonly Step<E>[],
    check: (decision: Decision, expected: E, message: string) => void
  ): Promise<void> {
    const store = clockedStore(makeStore, 0)
    const limiter = limiterIn(store, config)
    for (const [at, cost, expected] of steps) {
      store.clock.time = at
      check(await askFor(limiter, cost), expected, `at ${at}, cost ${cost}`)
    }
  }

  describe.each(files)(`${name}: %s`, (file) => {
    it.each(read<Config, Expected>(file))('%s', (_, { config, steps }) =>
      // Own fields, so that nothing may be missing or too many.
      play(options(config), steps, (decision, expected, message) =>
        expect(plain(decision), message).toEqual(wanted(expected))
      )
    )
  })

  describe(`${name}: tiers.json`, () => {
    const cases = read<Config[], { allowed: boolean; each: Expected[] }>('tiers.json')
    it.each(cases)('%s', (_, { config, steps }) => {
      const limits = config.map((tier, i) => ({ ...options(tier), name: `tier-${i}` }))
      return play({ limits }, steps, ({ allowed, tiers }, expected, message) => {
        expect(allowed).toBe(expected.allowed)
        expect(tiers.map(plain), message).toEqual(expected.each.map(wanted))
      })
    })
  })
}
