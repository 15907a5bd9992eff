import { describe, expect, it } from 'vitest'
import { createLimiter, type Limiter, type Store, type Strategy } from '../../src/index.js'
import { type SharedHandle, sharedStore } from '../../src/shared/index.js'

const T = 1_700_000_400_000
const code = (code: string, text = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(text) })

/** Another attachment to a store, as another thread has it. */
const another = (store: { handle: SharedHandle }) => sharedStore({ from: structuredClone(store.handle) })

describe('sharedStore', () => {
  it.each([0, -1, 1.5, Number.NaN, Infinity, '10', null, 2 ** 40])('refuses maxKeys of %o', (maxKeys) => {
    expect(() => sharedStore({ maxKeys: maxKeys as number })).toThrow(code('HEADGATE_BAD_OPTION', 'maxKeys'))
  })

  it('refuses unknown options with the near name, and a buffer too small for a limiter', () => {
    expect(() => sharedStore({ maxKey: 5 } as object)).toThrow(code('HEADGATE_UNKNOWN_OPTION', '`maxKeys`'))
    expect(() => sharedStore({ maxBytes: 1000 })).toThrow(code('HEADGATE_BAD_OPTION', 'maxBytes'))
    expect(() => sharedStore(null as never)).toThrow(code('HEADGATE_BAD_OPTION', 'options'))
  })

  it.each([
    [7],
    [{}],
    [{ headgate: 1, buffer: new ArrayBuffer(64) }],
    [{ headgate: 1, buffer: new SharedArrayBuffer(64) }],
    [{ headgate: 1, buffer: new SharedArrayBuffer(2 ** 22) }]
  ])('refuses to attach to what is no prepared store: %o', (from) => {
    expect(() => sharedStore({ from: from as never })).toThrow(code('HEADGATE_BAD_OPTION', 'from'))
  })

  it('refuses sizes beside `from`', () => {
    const { handle } = sharedStore()
    expect(() => sharedStore({ from: handle, maxKeys: 5 } as never)).toThrow(
      code('HEADGATE_BAD_OPTION', 'maxKeys')
    )
  })

  it('tells why it did not come to a thread', async () => {
    const store = sharedStore({ from: Promise.reject(new Error('no mail')) })
    const limiter = createLimiter({ limit: 1, window: 1000, store })
    await Promise.resolve()
    expect(() => limiter.consume('key')).toThrow(code('HEADGATE_STORE_FAILED', 'cause'))
    const wrong = sharedStore({ from: Promise.resolve({} as never) })
    await Promise.resolve()
    expect(() => wrong.handle).toThrow(code('HEADGATE_STORE_FAILED', 'cause'))
  })

  it('says when no further thread can attach', () => {
    const store = sharedStore({ maxKeys: 1 })
    for (let i = 1; i < 2048; i++) sharedStore({ from: store.handle })
    expect(() => another(store)).toThrow(code('HEADGATE_STORE_FULL', '2048 threads'))
  })

  it('names a strategy that keeps too much of a key, and others', () => {
    const policy = { strategy: 'sliding-log', limit: 5000, window: '1h', store: sharedStore() } as const
    expect(() => createLimiter(policy)).toThrow(code('HEADGATE_BAD_OPTION', "'sliding-log'"))
    expect(() => createLimiter(policy)).toThrow(code('HEADGATE_BAD_OPTION', "'sliding-window' or 'gcra'"))
  })

  it('takes by default what is recommended, for many routes', () => {
    const logins = sharedStore()
    for (let i = 0; i < 40; i++)
      createLimiter({ name: `login ${i}`, strategy: 'sliding-log', limit: 5, window: '15m', store: logins })
    const store = sharedStore()
    const all = [5, 20, 50, 100].flatMap((limit) => [
      { strategy: 'sliding-log', limit, window: '15m' },
      { strategy: 'sliding-log', limit, window: '1d' },
      { strategy: 'sliding-window', limit: limit * 1000, window: '1h' },
      { strategy: 'leaky-bucket', limit, window: '1m', burst: 10 },
      { strategy: 'gcra', limit, window: '1m' }
    ])
    for (const [i, rule] of all.entries()) createLimiter({ ...rule, name: `${i}`, store } as never)
    const limits = [
      { limit: 10, window: '1s' },
      { limit: 100, window: '1h', strategy: 'sliding-log' },
      { limit: 1000, window: '1d', strategy: 'sliding-window' }
    ] as const
    expect(createLimiter({ limits, store }).consume('key').allowed).toBe(true)
    expect(createLimiter({ ...all[6]!, name: '6', store } as never).consume('key').allowed).toBe(true)
  })

  it('says when a limiter does not fit, and goes on for the others', () => {
    const store = sharedStore({ maxKeys: 100_000, maxBytes: 2 ** 24 })
    const limiter = createLimiter({ name: 'first', limit: 1, window: 1000, store })
    expect(() => createLimiter({ name: 'second', limit: 1, window: 1000, store })).toThrow(
      code('HEADGATE_STORE_FULL', 'maxBytes')
    )
    expect(limiter.consume('key').allowed).toBe(true)
    expect(
      createLimiter({ name: 'first', limit: 1, window: 1000, store: another(store) }).consume('key').allowed
    ).toBe(false)
  })
})

describe('limiters of a shared store', () => {
  const policy = { limit: 3, window: '1h' } as const

  it('are matched by name, whatever the order they are made in', () => {
    const store = sharedStore()
    const other = another(store)
    const [a, b] = ['a', 'b'].map((name) => createLimiter({ ...policy, name, store }))
    const [b2, a2] = ['b', 'a'].map((name) => createLimiter({ ...policy, name, store: other }))
    a!.consume('key', 2)
    b!.consume('key', 1)
    expect([a2!.peek('key').remaining, b2!.peek('key').remaining]).toEqual([1, 2])
  })

  it('are matched by their rule if they have no name, and told apart by it', () => {
    const store = sharedStore()
    const limiter = createLimiter({ ...policy, store })
    createLimiter({ ...policy, limit: 5, store }).consume('key', 5)
    limiter.consume('key')
    expect(createLimiter({ ...policy, store: another(store) }).peek('key').remaining).toBe(2)
  })

  it('do not count together by mistake', () => {
    const store = sharedStore()
    createLimiter({ ...policy, store })
    expect(() => createLimiter({ ...policy, store })).toThrow(code('HEADGATE_POLICY_CLASH', '`name`'))
    createLimiter({ ...policy, name: 'api', store })
    const clash = { ...policy, limit: 4, name: 'api' }
    expect(() => createLimiter({ ...clash, store })).toThrow(code('HEADGATE_POLICY_CLASH', '"api"'))
    expect(() => createLimiter({ ...clash, store: another(store) })).toThrow(code('HEADGATE_POLICY_CLASH'))
  })

  it('are not of one name where two versions of their strategy need another number of slots', () => {
    const store = sharedStore()
    const version = (slots: number): Strategy => ({
      name: 'counted',
      slots: () => slots,
      check(state, at, rule, _now, cost, out) {
        out[0] = rule.limit - state[at]!
        out[1] = cost > out[0]! ? Infinity : 0
        out[2] = state[at] === 0 ? 0 : Infinity
        return cost <= out[0]!
      },
      charge(state, at, rule, _now, cost, out) {
        state[at] = Math.min(rule.limit, state[at]! + cost)
        out[0] = rule.limit - state[at]!
        out[2] = Infinity
      }
    })
    const of = (slots: number, each: Store, name = 'api') =>
      createLimiter({ ...policy, name, strategy: version(slots), store: each })
    of(2, store).consume('key', 3)
    expect(of(2, another(store)).peek('key').remaining).toBe(0)
    expect(() => of(3, another(store))).toThrow(code('HEADGATE_POLICY_CLASH', '"api"'))
    expect(of(3, another(store), 'other').consume('key', 3).allowed).toBe(true)
    expect(of(2, another(store)).peek('key').remaining).toBe(0)
  })

  it('share blocks and resets', () => {
    const store = sharedStore()
    const options = { ...policy, name: 'api' }
    const [a, b] = [store, another(store)].map((each) =>
      createLimiter({ ...options, store: each, now: () => T })
    )
    a!.block('key', '1m')
    expect(b!.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    b!.reset('key')
    expect(a!.consume('key', 3).allowed).toBe(true)
    b!.reset('key')
    expect(a!.peek('key').remaining).toBe(3)
  })

  it('keep as many blocks as keys, and say so', () => {
    let now = T
    const limiter = createLimiter({ ...policy, store: sharedStore({ maxKeys: 10 }), now: () => now })
    for (let key = 0; key < 10; key++) limiter.block(key, '1m')
    expect(() => limiter.block('more', '1m')).toThrow(code('HEADGATE_STORE_FULL', 'maxKeys'))
    limiter.block(3, '2m')
    now += 60_000
    limiter.block('more', '1m')
    expect([limiter.consume(1).allowed, limiter.consume(3).allowed, limiter.consume('more').allowed]).toEqual(
      [true, false, false]
    )
  })

  it('remember the lowest limit that a key was charged under, in all threads', () => {
    let now = T
    const options = { name: 'api', strategy: 'gcra', limit: 10, window: 1000, now: () => now } as const
    const store = sharedStore({ maxKeys: 1 })
    const [a, b] = [store, another(store)].map(
      (each) => createLimiter({ ...options, store: each }) as Varying
    )
    a!.take('key', 1, a!.withLimits([1]))
    now += 500
    // Under ten a second it would owe nothing any more.
    b!.consume('other')
    expect(a!.take('key', 1, a!.withLimits([1])).isAllowed).toBe(false)
  })
})

type Varying = Limiter & {
  withLimits(limits: readonly unknown[]): Limiter['policies']
  take(key: string, cost: number, policies: Limiter['policies']): { isAllowed: boolean }
}
