import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../src/index.js'
import {
  type Backend,
  type RemoteStore,
  type RemoteStoreOptions,
  remoteStore
} from '../../src/remote/index.js'
import { until } from '../redis/support/until.js'
import { naming } from '../support/errors.js'
import { lockingStores } from './locking-store.js'

afterEach(() => vi.restoreAllMocks())

const clock = { ms: 1_800_000_000_000 }
const leaseMs = 1000

describe('permits in a store that core decides for', () => {
  const stores = () => {
    let decided = 0
    const make = lockingStores(() => {
      decided++
      return clock.ms
    })
    const open = (store: RemoteStore) => createLimiter({ name: 'jobs', concurrency: 2, store })
    const [one, other] = [make({ leaseMs }), make({ leaseMs })]
    return { one, other, ours: open(one), theirs: open(other), decided: () => decided }
  }

  it('end with their process, and not before', async () => {
    const { one, ours, theirs } = stores()
    const permit = await ours.acquire('a', 2)
    await one.close()
    clock.ms += leaseMs - 1
    expect((await theirs.acquire('a')).allowed).toBe(false)
    clock.ms += 1
    expect((await theirs.acquire('a', 2)).allowed).toBe(true)
    permit.release()
    expect((await theirs.peek('a')).remaining).toBe(0)
  })

  it('are renewed while it lives, and released together with that', async () => {
    const { ours, theirs, decided } = stores()
    const permits = [await ours.acquire('a'), await ours.acquire('a')]
    for (let third = 0; third < 4; third++) {
      clock.ms += leaseMs / 2
      const before = decided()
      await until('they are renewed', () => decided() > before)
      expect((await theirs.peek('a')).remaining).toBe(0)
    }
    for (const permit of permits) {
      expect(permit.isLost).toBe(false)
      permit.release()
    }
    await until('they are free', async () => (await theirs.peek('a')).remaining === 2)
  })

  it('are known to be lost once others have them', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { ours, theirs } = stores()
    const permit = await ours.acquire('a')
    clock.ms += leaseMs
    const taken = await theirs.acquire('a', 2)
    await until('it has learned', () => permit.isLost)
    taken.release()
    await until('theirs are free', async () => (await theirs.peek('a')).remaining === 1)
    permit.release()
    await until('all are free', async () => (await theirs.peek('a')).remaining === 2)
  })

  it('stay out through a reset, beside other operations of the same turn', async () => {
    const { ours, theirs } = stores()
    await ours.acquire('a')
    const [permit] = await Promise.all([ours.acquire('a'), ours.reset('a'), ours.peek('a')])
    expect(permit.allowed).toBe(true)
    expect((await theirs.peek('a')).remaining).toBe(0)
    await Promise.all([ours.block('a', '1h'), ours.reset('a')])
    expect(await theirs.peek('a')).toMatchObject({ remaining: 0, isEstimate: true })
    permit.release()
    await until('it is free', async () => (await theirs.peek('a')).remaining === 1)
  })
})

describe('renewals that fail', () => {
  const verdict = (policies: object) => ({
    ...{ isAllowed: true, isBlocked: false, charged: 1, at: clock.ms, source: 'store', policies },
    out: [0, 0, Number.NaN, 0]
  })
  const runner = {
    most: 1,
    run: async ([request]: readonly { rules: { policies: object } }[]) => [
      verdict(request!.rules.policies) as never
    ]
  }
  const renewing = (renew: () => Promise<readonly boolean[]>): Backend => ({
    ...{ name: 'the database', shardOf: () => 0, nodeOf: () => '', renew },
    open: () => ({ rulesFor: (policies) => ({ policies, runner }) })
  })

  it.each<[string, () => Promise<readonly boolean[]>, string]>([
    ['are refused', () => Promise.reject(new Error('the table is full')), 'the table is full'],
    ['are late', () => new Promise(() => {}), 'the time that a renewal of permits has']
  ])('count as failures of their node where they %s', async (_, renew, reason) => {
    const told: (Error | undefined)[] = []
    const onStateChange = ({ error }: { readonly error?: Error }) => void told.push(error)
    const store = remoteStore(renewing(renew), { leaseMs, onStateChange })
    const permit = await createLimiter({ concurrency: 1, store }).acquire('a')
    await until('it is known', () => !store.isAvailable)
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    expect(told[0]!.message).toContain(reason)
    await until('it may be lost', () => permit.isLost)
    await store.close()
  })

  it('count in a row alone', async () => {
    const states: unknown[] = []
    const answers = [false, true, false, true, false, true]
    const renew = async () => {
      if (answers.shift() === false) throw new Error('the table is locked')
      return [false]
    }
    const breaker = { failures: 2 }
    const store = remoteStore(renewing(renew), {
      leaseMs,
      breaker,
      onStateChange: (s) => void states.push(s)
    })
    const permit = await createLimiter({ concurrency: 1, store }).acquire('a')
    await until('all were heard', () => answers.length === 0)
    expect(states).toEqual([])
    expect(permit.isLost).toBe(false)
    await store.close()
  })

  it('count where core decides, too', async () => {
    let isDown = false
    const make = lockingStores(() => {
      if (isDown) throw new Error('down')
      return clock.ms
    })
    const store = make({ leaseMs, onStateChange: () => {} })
    const permit = await createLimiter({ name: 'jobs', concurrency: 2, store }).acquire('a')
    isDown = true
    await until('it is known', () => !store.isAvailable)
    isDown = false
    await until('it works', () => store.isAvailable)
    permit.release()
  })
})

describe('what cannot work with permits', () => {
  const runner = { most: 1, run: async () => [] }
  const backend: Backend = {
    ...{ name: 'the database', shardOf: () => 0, nodeOf: () => '' },
    open: () => ({ rulesFor: (policies) => ({ policies, runner }) })
  }
  const limiter = (options: object, store: RemoteStore) =>
    createLimiter({ concurrency: 2, ...options, store } as never)

  it('is a backend that runs operations and renews nothing', () => {
    expect(() => limiter({}, remoteStore(backend))).toThrow(
      naming('HEADGATE_BAD_OPTION', '`concurrency` is 2', 'the database', '`renew`')
    )
    const renew = 5 as never
    expect(() => remoteStore({ ...backend, renew })).toThrow(naming('HEADGATE_BAD_OPTION', '`backend.renew`'))
  })

  it('is a lease of units', () => {
    const store = lockingStores(() => 0)()
    expect(() => limiter({ lease: 1 }, store)).toThrow(
      naming('HEADGATE_BAD_OPTION', '`lease` is 1', '`concurrency`')
    )
  })

  it('are more than 1000 of a key where core decides, as each is read and written with all others', async () => {
    const store = lockingStores(() => 0)()
    expect(() => limiter({ name: 'large', concurrency: 1001 }, store)).toThrow(
      naming('HEADGATE_BAD_OPTION', '`concurrency` is 1001', '1000', 'larger units')
    )
    const jobs = limiter({ name: 'jobs', concurrency: 1000 }, store)
    const computing = jobs as unknown as { withLimits(limits: number[]): never; take: unknown }
    const take = computing.take as (key: string, cost: number, policies: never) => Promise<unknown>
    const ask = async (limit: number, cost: number) =>
      take.call(computing, 'a', cost, computing.withLimits([limit]))
    await expect(ask(1001, 1)).rejects.toThrow(naming('HEADGATE_BAD_LIMIT', '1001'))
    expect(await ask(Number.POSITIVE_INFINITY, 1001)).toMatchObject({ isAllowed: false })
    expect(await ask(Number.POSITIVE_INFINITY, 1000)).toMatchObject({ isAllowed: true })
  })

  it.each<[unknown, string]>([
    [999, 'would lose its permits'],
    ['2h', 'missing for as long'],
    ['soon', '`leaseMs`'],
    [0, '`leaseMs`']
  ])('is a lease of %j', (leaseMs, fix) => {
    expect(() => remoteStore(backend, { leaseMs } as RemoteStoreOptions)).toThrow(
      naming('HEADGATE_BAD_OPTION', '`leaseMs` is', fix)
    )
  })

  it('are answers of `renew` that are none: they count as a failure, and renew nothing', async () => {
    const answers: unknown[] = []
    const own = { ...backend, renew: async () => answers.shift() as never }
    const verdict = (policies: object, at: number) => ({
      ...{ isAllowed: true, isBlocked: false, charged: 1, at, source: 'store', policies },
      out: [0, 0, Number.NaN, 0]
    })
    own.open = () => ({
      rulesFor: (policies) => ({
        policies,
        runner: { most: 1, run: async () => [verdict(policies, clock.ms)] as never }
      })
    })
    const permit = await limiter({}, remoteStore(own, { leaseMs })).acquire('a')
    expect(permit).toMatchObject({ allowed: true, source: 'store', remaining: 0 })
    answers.push(undefined, [], [true, true], [true])
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await until('all were heard', () => answers.length === 0)
    await until('the last one counts', () => permit.isLost)
    permit.release()
  })
})

describe('a node that hangs', () => {
  it('keeps no permits on others from being renewed', async () => {
    const renewed: number[] = []
    const verdict = (policies: object) => ({
      ...{ isAllowed: true, isBlocked: false, charged: 1, at: clock.ms, source: 'store', policies },
      out: [0, 0, Number.NaN, 0]
    })
    const runner = {
      most: 1,
      run: async ([request]: readonly { rules: { policies: object } }[]) => [
        verdict(request!.rules.policies) as never
      ]
    }
    const backend: Backend = {
      ...{ name: 'the database', nodeOf: String },
      shardOf: (key) => (key === 'hangs' ? 1 : 0),
      open: () => ({ rulesFor: (policies) => ({ policies, runner }) }),
      renew: async ([holding]) => {
        if (holding!.key === 'hangs') return new Promise<never>(() => {})
        renewed.push(performance.now())
        return [false]
      }
    }
    const store = remoteStore(backend, { leaseMs, deadline: '5s' })
    const limiter = createLimiter({ concurrency: 1, store })
    await limiter.acquire('hangs')
    await limiter.acquire('works')
    const begun = performance.now()
    await until('it was renewed', () => renewed.length === 5)
    // Three times a lease, on a busy machine.
    expect(performance.now() - begun).toBeLessThan(3 * leaseMs)
    await store.close()
  })
})
