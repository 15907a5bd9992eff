import { once } from 'node:events'
import type { LimiterOptions } from '../../../src/limiter/options.js'
import type { RedisStoreOptions } from '../../../src/redis/options.js'

/** What a process is to do: ask so often, a few at a time, and after each ask of the keys in turn. */
export interface Work {
  readonly port: number
  readonly store: RedisStoreOptions
  /** `strategy: 'two-speed'` is one of the user's own. */
  readonly limiter: object
  readonly keys: readonly string[]
  readonly count: number
  readonly atOnce: number
  /** How far the process's clocks are ahead. */
  readonly skewMs?: number
  /** Leave the store open at the end. */
  readonly isLeftOpen?: boolean
  /** The process must end by itself after it. */
  readonly isLast?: boolean
}

/** What it has come to. */
export interface Worked {
  /** Units admitted, a key each. */
  readonly admitted: readonly number[]
  readonly remaining: readonly number[]
  /** How many decisions came from where. */
  readonly sources: Readonly<Record<string, number>>
}

const skewMs = Number(process.env.SKEW)
const realNow = Date.now
Date.now = () => realNow() + skewMs
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + skewMs })

// Only now, so that the package sees no other clock.
const { createLimiter, defineStrategy } = await import('../../../src/index.js')
const { redisStore } = await import('../../../src/redis/index.js')
const { Redis } = await import('ioredis')
const { twoSpeedRules } = await import('../../support/two-speed.js')
defineStrategy(twoSpeedRules)

async function perform({ port, store: settings, limiter: options, ...work }: Work): Promise<Worked> {
  const { keys, count, atOnce, isLeftOpen } = work
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
  await client.connect()
  const store = redisStore(client, settings)
  const limiter = createLimiter({ ...options, store } as unknown as LimiterOptions)
  const admitted = keys.map(() => 0)
  const remaining: number[] = []
  const sources: Record<string, number> = {}
  let asked = 0
  const ask = async () => {
    while (asked < count) {
      const i = asked++ % keys.length
      const decision = await limiter.consume(keys[i]!)
      sources[decision.source] = (sources[decision.source] ?? 0) + 1
      if (!decision.allowed) continue
      admitted[i]!++
      remaining.push(decision.remaining)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  if (!isLeftOpen) await store.close()
  client.disconnect()
  return { admitted, remaining, sources }
}

/** Does one work after the other, until it has done the last. */
async function serve(): Promise<void> {
  for (let isLast = false; !isLast; ) {
    const [work] = (await once(process, 'message')) as [Work]
    isLast = work.isLast === true
    const worked = await perform(work)
    // From the last on nothing may keep the process alive.
    process.send!(worked, () => isLast && process.disconnect())
  }
}

const served = serve()
process.send!('ready')
await served
