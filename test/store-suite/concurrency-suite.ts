import { describe, expect, it } from 'vitest'
import { createLimiter, type Store } from '../../src/index.js'
import { naming } from '../support/errors.js'

const clock = { now: 1_700_000_000_000 }
const now = () => clock.now

/** What `concurrency` means, on any store in the process. */
export function concurrencySuite(name: string, makeStore: () => Store): void {
  const limiterOf = ((options: object) =>
    createLimiter({ store: makeStore(), ...options } as never)) as typeof createLimiter

  describe(`a policy of what is in flight, ${name}`, () => {
    it('admits as many at once as it says, and again what is released', () => {
      const limiter = limiterOf({ concurrency: 2 })
      const first = limiter.acquire('a')
      const second = limiter.acquire('a')
      expect({ ...first }).toEqual({
        allowed: true,
        limit: 2,
        remaining: 1,
        retryAfterMs: 0,
        resetMs: Number.NaN
      })
      expect(second).toMatchObject({ allowed: true, remaining: 0 })
      expect(limiter.acquire('a')).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
      expect(limiter.acquire('b').allowed).toBe(true)
      first.release()
      first.release()
      expect(limiter.peek('a')).toMatchObject({ allowed: true, remaining: 1 })
      expect(limiter.acquire('a').allowed).toBe(true)
      expect(limiter.acquire('a').allowed).toBe(false)
    })

    it('takes as many permits as a request costs, all or none', () => {
      const limiter = limiterOf({ concurrency: 5 })
      const three = limiter.acquire('a', 3)
      expect(three).toMatchObject({ allowed: true, remaining: 2 })
      expect(limiter.acquire('a', 3)).toMatchObject({ allowed: false, remaining: 2 })
      expect(limiter.acquire('a', 6)).toMatchObject({
        allowed: false,
        retryAfterMs: Infinity,
        isEstimate: false
      })
      expect(limiter.acquire('a', 2).allowed).toBe(true)
      three.release()
      expect(limiter.peek('a').remaining).toBe(3)
      expect(limiter.acquire('a', 0)).toMatchObject({ allowed: true, remaining: 3 })
    })

    it('beside windows takes all or nothing', () => {
      const limiter = limiterOf({
        limits: [{ limit: 3, window: '1m' }, { concurrency: 2 }, { limit: 100, window: '1h' }],
        now
      })
      const held = [limiter.acquire('a'), limiter.acquire('a')]
      expect(held.map(({ allowed }) => allowed)).toEqual([true, true])
      const denied = limiter.acquire('a')
      expect(denied).toMatchObject({ allowed: false, remaining: 0, limit: 2, isEstimate: true })
      expect(denied.tiers.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 1],
        [false, 0],
        [true, 98]
      ])
      for (const permit of held) permit.release()
      const third = limiter.acquire('a')
      expect(third.allowed).toBe(true)
      // The window denies, so that no permit is taken.
      const fourth = limiter.acquire('a')
      expect(fourth).toMatchObject({ allowed: false, isEstimate: false })
      expect(fourth.retryAfterMs).toBe(60_000 - (clock.now % 60_000))
      expect(limiter.peek('a').tiers[1]).toMatchObject({ remaining: 1 })
      third.release()
      expect(limiter.peek('a').tiers[1]).toMatchObject({ remaining: 2 })
    })

    it('says how long one waits about, once it has seen how long work takes', () => {
      const limiter = limiterOf({ concurrency: 2, now })
      const [a, b] = [limiter.acquire('k'), limiter.acquire('k')]
      const unknown = limiter.acquire('k')
      expect(unknown.retryAfterMs).toBeNaN()
      expect(unknown.isEstimate).toBe(true)
      clock.now += 3000
      a.release()
      b.release()
      limiter.acquire('k')
      limiter.acquire('k')
      expect(limiter.acquire('k')).toMatchObject({ retryAfterMs: 1500, isEstimate: true })
    })

    it('is released by `using`, also where the block throws', async () => {
      const limiter = limiterOf({ concurrency: 1 })
      const permit = limiter.acquire('a')
      permit[Symbol.dispose]()
      expect(limiter.peek('a').remaining).toBe(1)
      await limiter.acquire('a')[Symbol.asyncDispose]()
      expect(limiter.peek('a').remaining).toBe(1)
    })

    it('runs work that is admitted, and releases however it ends', async () => {
      const limiter = limiterOf({ concurrency: 1 })
      const done = await limiter.run('a', async (permit) => {
        expect(permit.remaining).toBe(0)
        expect(await limiter.run('a', () => 'never')).toMatchObject({ allowed: false })
        return 'value'
      })
      expect(done).toMatchObject({ allowed: true, value: 'value' })
      await expect(limiter.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
      await expect(
        limiter.run('a', () => {
          throw new Error('at once')
        })
      ).rejects.toThrow('at once')
      expect(limiter.peek('a').remaining).toBe(1)
    })

    it('cannot be consumed, as nobody could release', () => {
      const limiter = limiterOf({ concurrency: 1 })
      expect(() => limiter.consume('a')).toThrow(naming('HEADGATE_MUST_RELEASE', 'acquire', 'run'))
      expect(limiter.peek('a').remaining).toBe(1)
    })

    it('may be blocked by hand; reset lifts that, and leaves in flight what is', () => {
      const limiter = limiterOf({ concurrency: 2, now })
      const permit = limiter.acquire('a')
      limiter.block('a', '1m')
      expect(limiter.acquire('a')).toMatchObject({ allowed: false, retryAfterMs: 60_000, remaining: 0 })
      limiter.reset('a')
      expect(limiter.peek('a').remaining).toBe(1)
      permit.release()
      expect(limiter.peek('a').remaining).toBe(2)
      expect(limiter.size()).toBe(0)
    })

    it('counts together under one name and store', () => {
      const store = makeStore()
      const one = limiterOf({ name: 'jobs', concurrency: 1, store })
      const two = limiterOf({ name: 'jobs', concurrency: 1, store })
      const permit = one.acquire('a')
      expect(two.acquire('a').allowed).toBe(false)
      permit.release()
      expect(two.acquire('a').allowed).toBe(true)
    })

    it('acquires where nothing is in flight, too', () => {
      const limiter = limiterOf({ limit: 1, window: '1m', now })
      const permit = limiter.acquire('a')
      expect(permit.allowed).toBe(true)
      permit.release()
      expect(limiter.acquire('a').allowed).toBe(false)
    })
  })

  describe(`a line, ${name}`, () => {
    it('lets in by order of arrival, as permits come back', async () => {
      const limiter = limiterOf({ concurrency: 1, queue: 2, maxWait: '1m' })
      const first = await limiter.acquire('a')
      const order: string[] = []
      const second = limiter.acquire('a').finally(() => order.push('second'))
      const third = limiter.acquire('a').finally(() => order.push('third'))
      const full = await limiter.acquire('a')
      expect(full.allowed).toBe(false)
      first.release()
      const permit = await second
      expect(permit.allowed).toBe(true)
      expect(order).toEqual(['second'])
      permit.release()
      expect((await third).allowed).toBe(true)
      expect(order).toEqual(['second', 'third'])
    })

    it('overtakes nobody: who wants few waits behind who wants many', async () => {
      const limiter = limiterOf({ concurrency: 3, queue: 5, maxWait: '1m' })
      const two = await limiter.acquire('a', 2)
      const big = limiter.acquire('a', 3)
      const small = limiter.acquire('a', 1)
      two.release()
      const held = await big
      expect(held.allowed).toBe(true)
      held.release()
      expect((await small).allowed).toBe(true)
    })

    it('gives up the place of who leaves, and lets in who is behind', async () => {
      const limiter = limiterOf({ concurrency: 2, queue: 5, maxWait: '1m' })
      const one = await limiter.acquire('a', 1)
      const leaving = new AbortController()
      const big = limiter.acquire('a', 2, { signal: leaving.signal })
      const small = limiter.acquire('a', 1)
      leaving.abort(new Error('gone'))
      await expect(big).rejects.toThrow('gone')
      expect((await small).allowed).toBe(true)
      one.release()
      await expect(
        limiter.acquire('a', 1, { signal: AbortSignal.abort(new Error('before')) })
      ).rejects.toThrow('before')
      expect(limiter.peek('a').remaining).toBe(1)
    })

    it('ends all waits when it is closed', async () => {
      const limiter = limiterOf({ concurrency: 1, queue: 2, maxWait: '1m' })
      await limiter.acquire('a')
      const waiting = [limiter.acquire('a'), limiter.acquire('a')]
      limiter.close()
      for (const permit of await Promise.all(waiting))
        expect(permit).toMatchObject({ allowed: false, source: 'closed' })
      expect(await limiter.acquire('a')).toMatchObject({ allowed: false, source: 'closed' })
      expect((await limiter.acquire('b')).allowed).toBe(true)
    })

    it('counts the denial of who waits once', async () => {
      const limiter = limiterOf({
        limits: [
          { concurrency: 1, queue: 2, maxWait: '1m' },
          { limit: 10, window: '1h', strategy: 'gcra' }
        ],
        countDenied: true,
        now
      })
      const first = await limiter.acquire('a')
      const waits = [limiter.acquire('a'), limiter.acquire('a')]
      const charged = () => 10 - limiter.peek('a').tiers[1]!.remaining
      const before = charged()
      first.release()
      const second = await waits[0]!
      expect(charged()).toBe(before + 1)
      second.release()
      expect((await waits[1]!).allowed).toBe(true)
    })

    it('lets nobody wait for what never comes, or for a window', async () => {
      const limiter = limiterOf({
        limits: [
          { concurrency: 1, queue: 5, maxWait: '1m' },
          { limit: 1, window: '1m' }
        ],
        now
      })
      expect(await limiter.acquire('a', 2)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
      const permit = await limiter.acquire('a')
      expect(permit.allowed).toBe(true)
      expect(await limiter.acquire('a')).toMatchObject({ allowed: false })
    })
  })
}
