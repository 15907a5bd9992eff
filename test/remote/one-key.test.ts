import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AsyncLimiter, createLimiter, type Decision } from '../../src/index.js'
import {
  type Backend,
  type Change,
  type Decide,
  type RemoteStoreOptions,
  remoteStore
} from '../../src/remote/index.js'
import { twoSpeedRules } from '../support/two-speed.js'

const now = 1_700_000_000_000
const latencyMs = 5

/** A database that takes a while, one call after another. */
class SlowDatabase {
  readonly rows = new Map<string, { text: string; expiresAt: number }>()
  calls = 0

  read = (key: string) => this.rows.get(key)?.text ?? ''

  write(key: string, { text, lifeMs, mayShorten }: Change): void {
    const least = mayShorten ? 0 : (this.rows.get(key)?.expiresAt ?? 0)
    const expiresAt = Math.max(now + lifeMs, least)
    if (expiresAt > now) this.rows.set(key, { text, expiresAt })
    else this.rows.delete(key)
  }

  async update(key: string, decide: Decide): Promise<void> {
    this.calls++
    await setTimeout(latencyMs)
    const change = decide(this.read(key), now)
    if (change !== null) this.write(key, change)
  }

  async swap(key: string, expected: string, change: Change | null) {
    this.calls++
    await setTimeout(latencyMs)
    const text = this.read(key)
    const isDone = text === expected
    if (isDone && change !== null) this.write(key, change)
    return { isDone, text, now }
  }
}

type Form = 'update' | 'swap'

function slow(form: Form, options: RemoteStoreOptions = {}) {
  const database = new SlowDatabase()
  const update = (key: string, decide: Decide) => database.update(key, decide)
  const swap = (key: string, expected: string, change: Change | null) => database.swap(key, expected, change)
  const backend: Backend = {
    ...{ name: 'the database', shardOf: () => 0, nodeOf: () => '' },
    open: () => (form === 'update' ? { update } : { swap })
  }
  const store = remoteStore(backend, { deadline: '1s', onStoreError: 'allow', ...options })
  return { database, store }
}

describe.each<Form>(['update', 'swap'])('a key that is asked for much at once, by %s', (form) => {
  it('is held to its limit, and keeps nobody else from theirs', async () => {
    const { database, store } = slow(form)
    const limiter = createLimiter({ limit: 5, window: '1h', store })
    const flood = Array.from({ length: 600 }, () => limiter.consume('flooder'))
    await setTimeout(1)
    flood.push(...Array.from({ length: 600 }, () => limiter.consume('flooder')))
    const other = await limiter.consume('other')
    const decisions = await Promise.all(flood)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
    expect(new Set([other, ...decisions].map(({ source }) => source))).toEqual(new Set(['store']))
    expect(store.isAvailable).toBe(true)
    expect(database.calls).toBeLessThan(12)
  })

  it('is answered as if one had followed the other', async () => {
    const operation = fc.oneof(
      fc.record({ kind: fc.constant('consume' as const), cost: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constantFrom('peek' as const, 'refund' as const, 'reset' as const) }),
      fc.record({ kind: fc.constant('block' as const), ms: fc.constantFrom(5000, Number.POSITIVE_INFINITY) }),
      fc.record({ kind: fc.constant('take' as const), limit: fc.constantFrom(1, 3, 9) })
    )
    const strategy = fc.constantFrom('gcra', 'fixed-window', 'sliding-window', 'sliding-log', twoSpeedRules)
    const settings = fc.record({
      strategy,
      countDenied: fc.boolean(),
      block: fc.constantFrom(undefined, 1000)
    })
    await fc.assert(
      fc.asyncProperty(
        settings,
        fc.array(operation, { minLength: 1, maxLength: 8 }),
        async (own, operations) => {
          const [together, apart] = [slow(form), slow(form)]
          const limiters = [together, apart].map(({ store }) =>
            createLimiter({ limit: 4, window: '1h', ...own, store } as never)
          ) as unknown as [AsyncLimiter, AsyncLimiter]
          const asked = operations.map((each) => perform(limiters[0], each))
          const answers: unknown[] = []
          for (const each of operations) answers.push(await perform(limiters[1], each))
          expect(await Promise.all(asked)).toEqual(answers)
          expect(together.database.calls).toBeLessThanOrEqual(2)
          // Of two blocks the first had to be kept for long only where it was written.
          expect(end(together.database)).toBeLessThanOrEqual(end(apart.database))
          expect(shown(await limiters[0].peek('key'))).toEqual(shown(await limiters[1].peek('key')))
        }
      ),
      { numRuns: 40 }
    )
  }, 60_000)
})

interface Drawn {
  readonly kind: 'consume' | 'peek' | 'refund' | 'reset' | 'block' | 'take'
  readonly cost?: number
  readonly ms?: number
  readonly limit?: number
}

/** The limiter as the HTTP gate has it, with computed limits. */
interface Computing {
  withLimits(limits: number[]): never
  take(key: string, cost: number, policies: never): Promise<{ isAllowed: boolean; out: number[] }>
}

async function perform(limiter: AsyncLimiter, { kind, cost, ms, limit }: Drawn): Promise<unknown> {
  if (kind === 'consume' || kind === 'peek') return shown(await limiter[kind]('key', cost as never))
  if (kind === 'block') return limiter.block('key', ms!)
  if (kind !== 'take') return limiter[kind]('key')
  const computing = limiter as unknown as Computing
  const { isAllowed, out } = await computing.take('key', 1, computing.withLimits([limit!]))
  return { isAllowed, out }
}

const shown = ({ allowed, remaining, retryAfterMs, resetMs, source }: Decision) => ({
  ...{ allowed, remaining, retryAfterMs, resetMs, source }
})

const end = ({ rows }: SlowDatabase) => rows.get('key')?.expiresAt ?? 0

describe('a strategy that throws', () => {
  it('fails the operation that it throws at, and undoes that alone', async () => {
    const { store } = slow('update')
    const charge: typeof twoSpeedRules.charge = (...given) => {
      twoSpeedRules.charge(...given)
      if (given[4] === 2) throw new RangeError('two')
    }
    const limiter = createLimiter({ limit: 5, window: '1h', strategy: { ...twoSpeedRules, charge }, store })
    const [one, two, three] = await Promise.allSettled([1, 2, 3].map((cost) => limiter.consume('key', cost)))
    expect(two).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) })
    expect([one, three].map((settled) => settled!.status)).toEqual(['fulfilled', 'fulfilled'])
    expect((await limiter.peek('key')).remaining).toBe(1)
  })
})

describe('what waits behind its own key', () => {
  /** A database that answers when it is told to. */
  function held(options: RemoteStoreOptions) {
    const answers: (() => void)[] = []
    const update = (_: string, decide: Decide) =>
      new Promise<void>((resolve) => {
        answers.push(() => {
          try {
            decide('', now)
          } catch {
            // It was given up.
          }
          resolve()
        })
      })
    const backend: Backend = {
      ...{ name: 'the database', shardOf: () => 0, nodeOf: () => '' },
      open: () => ({ update })
    }
    const store = remoteStore(backend, {
      deadline: 60,
      onStoreError: 'allow',
      onStateChange: () => {},
      ...options
    })
    return { store, answers, limiter: createLimiter({ limit: 5, window: '1h', store }) }
  }

  /** Asks for one, and while that is decided for more. */
  async function askAll(limiter: AsyncLimiter): Promise<Decision[]> {
    const asked = [limiter.consume('key')]
    for (let i = 0; i < 5; i++) {
      await setTimeout(2)
      asked.push(limiter.consume('key'))
    }
    return Promise.all(asked)
  }

  it('is in time for its own deadline, and says nothing of a node that answers', async () => {
    const { store, answers, limiter } = held({ breaker: { failures: 2, cooldown: '1h' } })
    const decisions = await askAll(limiter)
    expect(decisions.map(({ source }) => source)).toEqual(Array(6).fill('allow'))
    expect(answers).toHaveLength(2)
    expect(store.isAvailable).toBe(true)
    answers[1]!()
    await setTimeout(120)
    expect(store.isAvailable).toBe(true)
  })

  it('does count if the node has had the whole deadline', async () => {
    const { store, limiter } = held({ breaker: { failures: 2, cooldown: '1h' } })
    await askAll(limiter)
    await expect.poll(() => store.isAvailable).toBe(false)
  })
})
