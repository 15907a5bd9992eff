import { afterAll, beforeAll, expect } from 'vitest'
import { createLimiter, type WindowOptions } from '../../../src/index.js'
import { type RedisStoreOptions, redisStore } from '../../../src/redis/index.js'
import { clients } from '../support/clients.js'
import { freshPrefix } from '../support/stores.js'

/** The deadline that stores have by default. */
export const deadlineMs = 100

/** What a decision may take beyond the deadline, once the lag of this process's own event loop is taken off. */
const marginMs = 20

/** The clients that faults are tried on. */
export const tested = clients.filter(({ name }) =>
  ['ioredis 5', 'ioredis 6', 'node-redis 4', 'node-redis 6'].includes(name)
)

export function clientNamed(name: string) {
  return clients.find((client) => client.name === name)!
}

/** One decision, and how long it took, less the lag of the event loop. */
export interface Answer {
  readonly source: string
  readonly allowed: boolean
  readonly remaining: number
  readonly ms: number
}

/** A limiter of a store on a client that faults are tried on. */
export function limiterOn(client: unknown, options: RedisStoreOptions = {}, rule: object = {}) {
  const states: boolean[] = []
  const prefix = options.prefix ?? freshPrefix()
  const store = redisStore(client as never, {
    breaker: { cooldown: 200 },
    onStateChange: ({ isAvailable }) => states.push(isAvailable),
    ...options,
    prefix
  })
  const policy = { name: 'fault', limit: 1_000_000, window: '1d', ...rule } as WindowOptions
  const limiter = createLimiter({ ...policy, store })
  const ask = async (key = 'key'): Promise<Answer> => {
    const lag = lagOfLoop()
    const begun = performance.now()
    const { source, allowed, remaining } = await limiter.consume(key)
    const ms = performance.now() - begun - lag.stop()
    return { source: source!, allowed, remaining, ms }
  }
  /** What Redis has charged for a key, as another store sees it. */
  const charged = async (direct: unknown, key = 'key') => {
    const other = createLimiter({ ...policy, store: redisStore(direct as never, { prefix, deadline: '5s' }) })
    const { limit, remaining, source } = await other.peek(key)
    expect(source).toBe('store')
    return limit - remaining
  }
  const many = (count: number, key?: string) => Promise.all(Array.from({ length: count }, () => ask(key)))
  return { limiter, store, prefix, states, ask, many, charged }
}

/** Fails if a decision was later than the deadline and the margin; gives the worst. */
export function expectInTime(answers: readonly Answer[]): number {
  const worst = Math.max(0, ...answers.map(({ ms }) => ms))
  expect(worst).toBeLessThanOrEqual(deadlineMs + marginMs)
  return worst
}

export function storeAdmitted(answers: readonly Answer[]): number {
  return answers.filter(({ source, allowed }) => source === 'store' && allowed).length
}

/** Sees that no promise of the tests of the file is rejected without anybody to hear of it. */
export function noUnhandledRejections(): void {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  beforeAll(() => void process.on('unhandledRejection', note))
  afterAll(() => {
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
}

/** How long the event loop was held up while something ran, in all, as a timer of 5 ms sees it. */
function lagOfLoop(): { stop(): number } {
  let last = performance.now()
  let sum = 0
  const look = () => {
    const now = performance.now()
    // A turn that is late by less is the granularity of timers.
    if (now - last > 8) sum += now - last - 5
    last = now
  }
  const timer = setInterval(look, 5)
  return {
    stop() {
      clearInterval(timer)
      look()
      return sum
    }
  }
}
