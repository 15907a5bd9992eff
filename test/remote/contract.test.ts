import { describe, expect, it } from 'vitest'
import { createLimiter, type Decision } from '../../src/index.js'
import {
  type Backend,
  type Call,
  type Decide,
  type RemoteStoreOptions,
  type Request,
  remoteStore,
  type Verdict
} from '../../src/remote/index.js'
import { twoSpeedRules } from '../support/two-speed.js'

const now = 1_700_000_000_000
const policy = { name: 'api', limit: 5, window: '1d' } as const

/** A backend of one process, which does what a test has it do instead of answering. */
function faulty(options: RemoteStoreOptions = {}, isOutage?: Backend['isOutage']) {
  const texts = new Map<string, string>()
  const lives: number[] = []
  const faults: { instead: ((call: Call) => Promise<void>) | null } = { instead: null }
  const backend: Backend = {
    name: 'the database',
    shardOf: () => 0,
    nodeOf: () => '',
    ...(isOutage ? { isOutage } : {}),
    open: ({ name }) => ({
      async update(key: string, decide: Decide, call: Call) {
        await faults.instead?.(call)
        const change = decide(texts.get(name + key) ?? '', now)
        if (change === null) return
        texts.set(name + key, change.text)
        lives.push(change.lifeMs)
      }
    })
  }
  const states: boolean[] = []
  const onStateChange = ({ isAvailable }: { isAvailable: boolean }) => states.push(isAvailable)
  const store = remoteStore(backend, { onStateChange, deadline: '5s', ...options })
  const on = (more: object = {}) => createLimiter({ ...policy, ...more, store })
  return { store, faults, texts, lives, states, on }
}

const fail = async () => {
  throw new Error('it is gone')
}

const sources = (decisions: readonly Decision[]) => decisions.map(({ source }) => source)

describe('a backend that fails', () => {
  it('is spared by the breaker, and repaid what was counted here', async () => {
    const breaker = { failures: 2, cooldown: 1 }
    const { store, faults, states, on } = faulty({ breaker })
    const limiter = on()
    await limiter.consume('key')
    faults.instead = fail
    const decisions = [
      await limiter.consume('key'),
      await limiter.consume('key'),
      await limiter.consume('key')
    ]
    expect(sources(decisions)).toEqual(['local', 'local', 'local'])
    expect([store.isAvailable, ...states]).toEqual([false, false])
    await expect(limiter.reset('other')).rejects.toMatchObject({
      code: 'HEADGATE_STORE_FAILED',
      message: expect.stringContaining('the database')
    })
    faults.instead = null
    await expect.poll(async () => (await limiter.peek('other')).source).toBe('store')
    await expect.poll(async () => (await limiter.peek('key')).remaining).toBe(1)
    expect([store.isAvailable, ...states]).toEqual([true, false, true])
  })

  it('says nothing of its health by an error that is no outage', async () => {
    const { store, faults, on } = faulty({ breaker: { failures: 1 } }, () => false)
    faults.instead = fail
    expect((await on().consume('key')).source).toBe('local')
    expect(store.isAvailable).toBe(true)
  })

  it('charges nothing once the deadline is over', async () => {
    const { faults, texts, on } = faulty({ deadline: 20, onStoreError: 'allow' })
    let goOn = () => {}
    faults.instead = () =>
      new Promise((resolve) => {
        goOn = resolve
      })
    expect((await on().consume('key')).source).toBe('allow')
    goOn()
    await new Promise(setImmediate)
    expect(texts.size).toBe(0)
  })

  it('is told until when a call may be carried out, by its own clock', async () => {
    const { faults, on } = faulty()
    const seen: number[] = []
    faults.instead = async (call) => void seen.push(call.expiresAt)
    const limiter = on()
    await limiter.consume('key')
    await limiter.consume('key')
    expect(seen[1]).toBeGreaterThan(now + 4000)
    expect(seen[1]).toBeLessThanOrEqual(now + 5000)
  })
})

describe('a backend that locks', () => {
  it('is told how long a key must be kept', async () => {
    const { lives, on } = faulty()
    const limiter = on({ align: 'first-request' })
    await limiter.consume('key')
    await limiter.block('key', Infinity)
    await limiter.reset('key')
    expect(lives).toEqual([86_400_000, Number.POSITIVE_INFINITY, 0])
  })
})

describe('an error of the user’s strategy', () => {
  it('is the caller’s to see, writes nothing, and is no outage', async () => {
    const check = () => {
      throw new RangeError('broken')
    }
    const { store, texts, on } = faulty({ breaker: { failures: 1 } })
    const limiter = on({ strategy: { ...twoSpeedRules, check } })
    await expect(limiter.consume('key')).rejects.toThrow(RangeError)
    expect([texts.size, store.isAvailable]).toEqual([0, true])
  })
})

describe('a backend that runs operations', () => {
  /** Admits everything, and notes the batches. */
  function operating(most: number) {
    const batches: string[][] = []
    const run = async (requests: readonly Request[], call: Call): Promise<(Verdict | undefined)[]> => {
      call.tellTime(now)
      batches.push(requests.map(({ key, operation: { kind } }) => `${kind} ${key}`))
      return requests.map(({ operation, rules: { policies } }) => {
        if (operation.kind === 'reset') return undefined
        const out = [4, 0, 1000, 0]
        return { isAllowed: true, isBlocked: false, charged: 1, at: now, source: 'store', policies, out }
      })
    }
    const runner = { most, run }
    const backend: Backend = {
      name: 'the database',
      shardOf: (key) => key.charCodeAt(0),
      nodeOf: () => '',
      open: () => ({ rulesFor: (policies) => ({ policies, runner }) })
    }
    return { batches, limiter: createLimiter({ ...policy, store: remoteStore(backend) }) }
  }

  it('gets what was asked in one turn in one call per shard, in order', async () => {
    const { batches, limiter } = operating(10)
    const [first] = await Promise.all([
      limiter.consume('a'),
      limiter.reset('a'),
      limiter.consume('b'),
      limiter.peek('a')
    ])
    expect(batches).toEqual([['take a', 'reset a', 'peek a'], ['take b']])
    expect(first).toMatchObject({ allowed: true, remaining: 4, source: 'store' })
  })

  it('gets no more in a call than it takes', async () => {
    const { batches, limiter } = operating(2)
    await Promise.all([1, 2, 3].map(() => limiter.consume('a')))
    expect(batches.map(({ length }) => length)).toEqual([2, 1])
  })
})

describe('remoteStore', () => {
  it.each([
    [{ deadlne: 5 }, 'HEADGATE_UNKNOWN_OPTION', 'deadline'],
    [{ deadline: 0 }, 'HEADGATE_BAD_OPTION', '`deadline`'],
    [null, 'HEADGATE_BAD_OPTION', '`options`']
  ])('refuses %j', (options, code, message) => {
    expect(() => remoteStore({ name: 'x' } as never, options as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) })
    )
  })
})
