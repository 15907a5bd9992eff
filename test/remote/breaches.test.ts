import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import {
  type Backend,
  type Call,
  type Decide,
  type RemoteStore,
  remoteStore
} from '../../src/remote/index.js'

const now = 1_700_000_000_000
const policy = { name: 'api', limit: 2, window: '1h' } as const
const breaker = { failures: 3, cooldown: '1h' } as const
const quiet = { onStateChange: () => {}, breaker } as const

/** What is neither an error nor to be shown. */
const unshowable = [
  Object.create(null),
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('no')
      },
      getPrototypeOf: () => {
        throw new Error('no')
      }
    }
  ),
  {
    toString: () => {
      throw new Error('no')
    }
  },
  Symbol('no'),
  undefined
]

const broken = () => {
  throw new RangeError('broken')
}

const backendOf = (opened: object, more: object = {}): Backend =>
  ({ name: 'the database', shardOf: () => 0, nodeOf: () => '', open: () => opened, ...more }) as Backend

/** A backend that runs operations, and answers so. */
const running = (run: unknown) =>
  backendOf({ rulesFor: (policies: unknown) => ({ policies, runner: { most: 10, run } }) })

const verdict = {
  ...{ isAllowed: true, isBlocked: false, charged: 1, at: now, source: 'store' },
  ...{ policies: [{}], out: [1, 0, 1000, 0] }
}

const answering = (more: object) => running(async () => [{ ...verdict, ...more }])

/** Nobody may hear of a rejection otherwise than by what was asked for. */
const unhandled: unknown[] = []
const hear = (error: unknown) => void unhandled.push(error)
beforeEach(() => void process.on('unhandledRejection', hear))
afterEach(async () => {
  await new Promise(setImmediate)
  process.off('unhandledRejection', hear)
  expect(unhandled.splice(0)).toEqual([])
})

const on = (store: RemoteStore, more: object = {}) => createLimiter({ ...policy, ...more, store })

/** The store fails each decision and each change, and its breaker opens. */
async function expectOutage(backend: Backend, message = 'the database failed') {
  const errors: unknown[] = []
  const onStateChange = ({ error }: { error?: Error }) => void errors.push(error)
  const store = remoteStore(backend, { ...quiet, onStateChange, onStoreError: 'deny' })
  const limiter = on(store)
  expect(await limiter.consume('key')).toMatchObject({ allowed: false, source: 'deny' })
  expect(await limiter.peek('key')).toMatchObject({ allowed: false, source: 'deny' })
  expect(store.isAvailable).toBe(true)
  await expect(limiter.reset('key')).rejects.toMatchObject({
    code: 'HEADGATE_STORE_FAILED',
    message: expect.stringContaining(message)
  })
  expect(store.isAvailable).toBe(false)
  expect(errors).toEqual([expect.objectContaining({ code: 'HEADGATE_STORE_FAILED' })])
  expect(errors[0]).toHaveProperty('cause')
  const allowing = remoteStore(backend, { ...quiet, onStoreError: 'allow' })
  expect(await on(allowing).consume('key')).toMatchObject({ allowed: true, source: 'allow' })
  const local = on(remoteStore(backend, quiet))
  const allowed = [await local.consume('key', 2), await local.consume('key')]
  expect(allowed.map((decision) => [decision.allowed, decision.source])).toEqual([
    [true, 'local'],
    [false, 'local']
  ])
}

const noTimes = [
  new Date(now),
  undefined,
  null,
  Number.NaN,
  `${now}`,
  Number.POSITIVE_INFINITY,
  -1,
  2 ** 60,
  BigInt(now)
]

describe('a time that is none', () => {
  it.each(noTimes)('fails what is decided: %s', async (time) => {
    await expectOutage(
      backendOf({ update: async (_: string, decide: Decide) => void decide('', time as number) }),
      '`now`'
    )
    await expectOutage(backendOf({ swap: async () => ({ isDone: false, text: '', now: time }) }), '`now`')
  })

  it.each(noTimes)('fails a verdict, and a call that is told it: %s', async (time) => {
    const store = remoteStore(answering({ at: time }), { ...quiet, onStoreError: 'deny' })
    expect((await on(store).consume('key')).source).toBe('deny')
    const telling = async (_: unknown, call: Call) => {
      call.tellTime(time as number)
      return [verdict]
    }
    await expectOutage(running(telling), '`now`')
  })

  it('is also what a backend goes on after', async () => {
    const update = async (_: string, decide: Decide) => {
      try {
        decide('', Number.NaN)
      } catch {
        // As if nothing were wrong.
      }
    }
    await expectOutage(backendOf({ update }), '`now`')
  })
})

describe('a time with a fraction', () => {
  it('is that of its whole ms', async () => {
    const texts: string[] = []
    const update = async (_: string, decide: Decide) => {
      const change = decide(texts.at(-1) ?? '', now + 0.75)
      if (change !== null) texts.push(change.text)
    }
    const limiter = on(remoteStore(backendOf({ update })))
    const decisions = [
      await limiter.consume('key'),
      await limiter.consume('key'),
      await limiter.consume('key')
    ]
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect(texts.join()).not.toContain('.')
    expect(await on(remoteStore(answering({ at: now + 0.75 }))).consume('key')).toMatchObject({
      allowed: true,
      source: 'store'
    })
  })
})

describe('a backend that throws what cannot be shown', () => {
  it.each(unshowable.map((thrown, i) => [i, thrown]))('fails: %i', async (_, thrown) => {
    const reject = () => Promise.reject(thrown)
    const isOutage = () => {
      throw thrown
    }
    await expectOutage(backendOf({ update: reject }))
    await expectOutage(backendOf({ swap: reject }, { isOutage }))
    await expectOutage(running(reject))
  })

  it('may throw it when it is told of an outage, or that a call is over', async () => {
    const update = (_: string, __: Decide, call: Call) => {
      call.onGivenUp = broken
      return new Promise(() => {})
    }
    const onStateChange = () => {
      throw Object.create(null)
    }
    const store = remoteStore(backendOf({ update }), {
      ...{ deadline: 5, onStoreError: 'deny', breaker: { failures: 1 }, onStateChange }
    })
    expect((await on(store).consume('key')).source).toBe('deny')
    expect(store.isAvailable).toBe(false)
  })
})

describe('a backend that does not do what it must', () => {
  it.each<[string, Backend]>([
    ['throws in `update`', backendOf({ update: broken })],
    ['throws in `swap`', backendOf({ swap: broken })],
    ['throws in `run`', running(broken)],
    [
      'returns no promise of `update`',
      backendOf({ update: (_: string, decide: Decide) => void decide('', now) })
    ],
    ['returns no promise of `swap`', backendOf({ swap: () => ({ isDone: true, text: '', now }) })],
    ['returns no promise of `run`', running(() => [verdict])],
    ['returns nothing of `swap`', backendOf({ swap: async () => undefined })],
    ['returns nothing of `run`', running(async () => undefined)],
    ['returns no verdicts', running(async () => [])],
    ['returns too many verdicts', running(async () => [verdict, verdict])],
    ['never calls `decide`', backendOf({ update: async () => {} })],
    [
      'calls it too late',
      backendOf({
        update: async (_: string, decide: Decide) =>
          void setImmediate(() => expect(() => decide('', now)).toThrow())
      })
    ],
    [
      'gives no text',
      backendOf({ update: async (_: string, decide: Decide) => void decide(null as never, now) })
    ],
    [
      'gives a buffer',
      backendOf({ update: async (_: string, decide: Decide) => void decide(Buffer.from('') as never, now) })
    ],
    ['gives no text to swap', backendOf({ swap: async () => ({ isDone: false, text: null, now }) })],
    ['throws in `shardOf`', backendOf({ update: broken }, { shardOf: broken })],
    ['throws in `nodeOf`', backendOf({ update: broken }, { nodeOf: broken })],
    ['has a promise of a shard', backendOf({ update: broken }, { shardOf: async () => 0 })],
    ['has no label of a node', backendOf({ update: broken }, { nodeOf: () => undefined })]
  ])('is failing if it %s', async (_, backend) => {
    await expectOutage(backend, '')
  })

  it('is failing if it makes no rules for computed limits', async () => {
    const rulesFor = (policies: unknown, lowest: unknown) =>
      lowest === null ? { policies, runner: { most: 1, run: async () => [verdict] } } : broken()
    const limiter = createLimiter({ ...policy, store: remoteStore(backendOf({ rulesFor }), quiet) })
    const other = (limiter as never as { withLimits(limits: number[]): never }).withLimits([1])
    const take = (limiter as never as { take(key: string, cost: number, policies: never): Promise<object> })
      .take
    expect(await take.call(limiter, 'key', 1, other)).toMatchObject({ source: 'local' })
  })

  it('is asked for its nodes only while it can tell', async () => {
    const backend = backendOf({ update: broken }, { nodes: broken })
    const store = remoteStore(backend, { ...quiet, breaker: { failures: 1, cooldown: 1 } })
    await on(store).consume('key')
    expect(store.isAvailable).toBe(false)
  })

  it('is available again once keys can be located', async () => {
    let shardOf: () => number = broken
    const update = async (_: string, decide: Decide) => void decide('', now)
    const store = remoteStore(backendOf({ update }, { shardOf: () => shardOf() }), {
      ...quiet,
      breaker: { failures: 1 }
    })
    expect((await on(store).consume('key')).source).toBe('local')
    expect(store.isAvailable).toBe(false)
    shardOf = () => 0
    expect((await on(store).consume('other')).source).toBe('store')
    expect(store.isAvailable).toBe(true)
  })
})

describe('a verdict that is none', () => {
  it.each([
    { isAllowed: 1 },
    { isAllowed: undefined },
    { isBlocked: 'no' },
    { charged: Number.NaN },
    { charged: '1' },
    { charged: -1 },
    { source: 'here' },
    { source: undefined },
    { policies: undefined },
    { policies: [] },
    { out: undefined },
    { out: [1, 0, 1000] },
    { out: [1, 0, 1000, 0, 0] },
    { out: [1, 0, Number.NaN, 0] },
    { out: ['1', 0, 1000, 0] }
  ])('fails its call: %o', async (more) => {
    const store = remoteStore(answering(more), { ...quiet, onStoreError: 'deny' })
    expect((await on(store).consume('key')).source).toBe('deny')
  })

  it.each([null, undefined, true])('fails its call: %s', async (given) => {
    const store = remoteStore(
      running(async () => [given]),
      { ...quiet, onStoreError: 'deny' }
    )
    expect((await on(store).consume('key')).source).toBe('deny')
  })
})

describe('a state that was never written', () => {
  const good = '1700000000000 0 1 2;'

  it.each([
    'x',
    ' ',
    good.slice(0, -1),
    `${good};`,
    '1700000000000 0 x;',
    '1;',
    '1,2,3',
    `${good}1`,
    '{}',
    ';'
  ])('is no new key: %j', async (text) => {
    let held: string = text
    const update = async (_: string, decide: Decide) => {
      held = decide(held, now)?.text ?? held
    }
    const store = remoteStore(backendOf({ update }), { ...quiet, onStoreError: 'deny' })
    const limiter = on(store)
    for (let i = 0; i < 5; i++) expect((await limiter.consume('key')).source).toBe('deny')
    await expect(limiter.refund('key')).rejects.toMatchObject({
      code: 'HEADGATE_STORE_FAILED',
      message: expect.stringContaining('`reset`')
    })
    expect([held, store.isAvailable]).toEqual([text, true])
    await limiter.reset('key')
    expect((await limiter.consume('key')).source).toBe('store')
  })
})

describe('a backend that lacks something', () => {
  const whole = backendOf({ update: broken })

  it.each<[unknown, string]>([
    [{}, 'backend.name'],
    [5, 'backend'],
    [null, 'backend'],
    [undefined, 'backend'],
    [{ ...whole, name: '' }, 'backend.name'],
    [{ ...whole, shardOf: undefined }, 'backend.shardOf'],
    [{ ...whole, nodeOf: 0 }, 'backend.nodeOf'],
    [{ ...whole, open: {} }, 'backend.open'],
    [{ ...whole, nodes: [] }, 'backend.nodes'],
    [{ ...whole, isOutage: true }, 'backend.isOutage'],
    [{ ...whole, close: null }, 'backend.close']
  ])('is refused: %o', (backend, option) => {
    expect(() => remoteStore(backend as Backend)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining(`\`${option}\``)
      })
    )
  })

  it.each([
    [{}, '`rulesFor`, `update` or `swap`'],
    [undefined, '`rulesFor`, `update` or `swap`'],
    ['update', '`rulesFor`, `update` or `swap`'],
    [{ update: true }, '`rulesFor`, `update` or `swap`'],
    [Promise.resolve({ update: broken }), 'promise'],
    [{ rulesFor: () => undefined }, '`rules.policies`'],
    [{ rulesFor: () => ({ policies: [], runner: {} }) }, '`rules.runner.run`'],
    [{ rulesFor: () => ({ policies: [], runner: { run: broken } }) }, '`rules.runner.most`']
  ])('opens no limiter: %o', (opened, message) => {
    expect(() => on(remoteStore(backendOf(opened as object)))).toThrow(
      expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining(message) })
    )
  })
})

describe('a swap that does not say if it was done', () => {
  it('fails its call', async () => {
    const store = remoteStore(backendOf({ swap: async () => ({ text: '', now }) }), {
      ...quiet,
      onStoreError: 'deny'
    })
    expect((await on(store).consume('key')).source).toBe('deny')
  })
})
