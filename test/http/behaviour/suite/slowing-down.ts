import { describe, expect, it } from 'vitest'
import type { DelayOptions } from '../../../../src/core/delay.js'
import { header, quotaFields } from '../client.js'
import {
  type Framework,
  manualClock,
  type Options,
  servers,
  start,
  turns,
  until,
  watchLongTimers,
  within
} from '../harness.js'

const slow = (delay: DelayOptions, more: object = {}): Options =>
  ({ limit: 100, window: '1h', now: () => start, key: () => 'k', delay, ...more }) as Options

/** So long that no test waits for it. */
const forLong = { step: '1h', max: '1h' } as const

/** What is over `after` is held, in order, and by the server alone. */
export function slowingDown(framework: Framework): void {
  const run = servers(framework)

  /** A server with one limiter, and the paths that its handler was called for. */
  async function serve(options: Options, more: object = {}) {
    const reached: string[] = []
    const app = await run({
      instances: { one: options, ...more },
      routes: [
        {
          path: '/:id',
          instances: ['one', ...Object.keys(more)],
          handler: ({ request }) => void reached.push(request.url!.slice(1))
        }
      ]
    })
    const one = app.limiters.one!
    /** Asks, and waits until it is held. */
    const hold = async (path: string) => {
      const watch = watchLongTimers()
      const held = app.open({ path })
      held.answer.catch(() => {})
      await until(() => watch.running() > 0).finally(() => watch.stop())
      return held
    }
    return { app, reached, one, hold }
  }

  describe('slowing down', () => {
    it('SLO-08: what is over `after` goes on one step later for each unit; what is over the limit is denied', async () => {
      const { app, reached } = await serve(slow({ after: 2, step: 25 }, { limit: 4 }))
      const waits: number[] = []
      const answers = []
      for (const path of ['/1', '/2', '/3', '/4', '/5']) {
        const from = performance.now()
        answers.push(await app.get(path))
        waits.push(performance.now() - from)
      }
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429])
      expect(answers.map((answer) => header(answer, 'RateLimit-Remaining'))).toEqual([
        '3',
        '2',
        '1',
        '0',
        '0'
      ])
      expect(reached).toEqual(['1', '2', '3', '4'])
      expect(waits[2]).toBeGreaterThanOrEqual(24)
      expect(waits[3]).toBeGreaterThanOrEqual(49)
    })

    it('SLO-09: `limit: Infinity` denies nobody, counts, and is in no header', async () => {
      const { app, reached } = await serve(slow({ after: 3, step: 5, max: 8 }, { limit: Infinity }))
      const answers = []
      for (let i = 0; i < 8; i++) answers.push(await app.get(`/${i}`))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      expect(answers.flatMap(quotaFields)).toEqual([])
      expect(reached).toHaveLength(8)
    })

    it('SLO-09: so does a computed one', async () => {
      const { app, one, hold } = await serve(
        slow(forLong, { limit: async (request: { url: string }) => (request.url === '/many' ? Infinity : 2) })
      )
      expect((await app.get('/few')).status).toBe(200)
      const held = await hold('/many')
      expect((await app.get('/few')).status).toBe(429)
      expect(await one.peek('k')).toMatchObject({ allowed: false, limit: 2 })
      held.abort()
    })

    it('SLO-10: `request.rateLimit` tells of it', async () => {
      const told: unknown[] = []
      const app = await run({
        global: slow({ after: 1, step: 10 }, { cost: 3 }),
        routes: [{ path: '/', handler: ({ request }) => void told.push(request.rateLimit!.delayMs) }]
      })
      await app.get()
      await app.get()
      expect(told).toEqual([20, 50])
    })

    it('SLO-11: a client that leaves frees its place at once, and its handler is never called', async () => {
      const { app, reached, hold } = await serve(slow({ ...forLong, places: 1 }))
      await app.get('/free')
      const first = await hold('/first')
      expect((await app.get('/crowded')).status).toBe(429)
      first.abort()
      // It takes the server a moment to learn of that.
      let next: Awaited<ReturnType<typeof within>> | undefined
      while (next !== 'pending') {
        const asked = app.open({ path: '/next' })
        asked.answer.catch(() => {})
        next = await within(asked.answer, 50)
      }
      expect(reached).toEqual(['free'])
    })

    it('SLO-12: who finds no place is denied, told how long he would have been held, and charged nothing', async () => {
      const { app, one, hold, reached } = await serve(slow({ step: '90s', max: '2m', places: 1 }))
      await app.get('/free')
      const held = await hold('/held')
      const before = (await one.peek('k')).remaining
      const denied = await app.get('/crowded')
      expect(denied.status).toBe(429)
      expect(header(denied, 'Retry-After')).toBe('120')
      expect(denied.body).toContain('120')
      await turns()
      expect((await one.peek('k')).remaining).toBe(before)
      expect(reached).toEqual(['free'])
      held.abort()
    })

    it('SLO-12: also where the limit is Infinity, and for at least a second where he would have been held for less', async () => {
      const { app, hold } = await serve(
        slow({ ...forLong, after: 0, places: 1 }, { key: keyOfPath, limit: Infinity })
      )
      const held = await hold('/a')
      const denied = await app.get('/b')
      expect([denied.status, header(denied, 'Retry-After')]).toEqual([429, '3600'])
      expect(quotaFields(denied).map((name) => name.toLowerCase())).toEqual(['retry-after'])
      held.abort()
      const brief = await serve(
        slow({ after: 0, step: 10, max: '1h', places: 1 }, { cost: costOfPath, limit: 1_000_000 })
      )
      const long = await brief.hold('/9')
      await brief.one.reset('k')
      const crowded = await brief.app.get('/1')
      expect(crowded.status).toBe(429)
      // After those of his key who are held.
      expect(Number(header(crowded, 'Retry-After'))).toBeGreaterThan(80)
      long.abort()
      const other = await serve(
        slow(
          { after: 0, step: 10, max: '1h', places: 1 },
          { cost: costOfPath, key: keyOfPath, limit: 1_000_000 }
        )
      )
      const before = await other.hold('/9')
      expect(header(await other.app.get('/1'), 'Retry-After')).toBe('10')
      expect(header(await other.app.get('/0'), 'Retry-After')).toBe('1')
      before.abort()
    })

    it('SLO-13: nobody of a key goes on before an earlier one, whatever the window does; other keys do', async () => {
      const clock = manualClock()
      const { app, reached, hold } = await serve(
        slow({ after: 1, step: '11s' }, { key: keyOfPath, window: '1m', now: clock.read })
      )
      await app.get('/a1')
      const early = await hold('/a2')
      // Where the store has a clock of its own a key that is forgotten begins anew.
      if (framework.hasStoreClock) await app.limiters.one!.reset('a')
      else clock.pass(60_000)
      const late = app.get('/a3')
      late.catch(() => {})
      expect((await app.get('/b1')).status).toBe(200)
      expect(await within(late, 20)).toBe('pending')
      expect(reached).toEqual(['a1', 'b1'])
      early.abort()
      expect((await late).status).toBe(200)
      expect(reached).toEqual(['a1', 'b1', 'a3'])
    })

    it('SLO-14: a limiter that is closed has all go on at once, in order, and holds nobody any more', async () => {
      const { app, reached, one, hold } = await serve(slow({ after: 0, ...forLong }))
      const asked = [await hold('/1'), app.open({ path: '/2' })]
      expect(await within(asked[1]!.answer, 20)).toBe('pending')
      one.close()
      expect((await Promise.all(asked.map(({ answer }) => answer))).map(({ status }) => status)).toEqual([
        200, 200
      ])
      expect(reached).toEqual(['1', '2'])
      expect((await app.get('/3')).status).toBe(200)
    })

    it('SLO-15: `shadow` holds nobody', async () => {
      const { app, reached } = await serve(slow({ after: 0, ...forLong }, { shadow: true }))
      expect((await app.get('/1')).status).toBe(200)
      expect(reached).toEqual(['1'])
    })

    it('SLO-16: one that is held by a limiter takes no permit of the next', async () => {
      const { app, reached, hold } = await serve(slow({ after: 1, ...forLong }, { key: keyOfPath }), {
        flight: { concurrency: 1, key: () => 'all' }
      })
      expect((await app.get('/a1')).status).toBe(200)
      const held = await hold('/a2')
      expect(await app.limiters.flight!.peek('all')).toMatchObject({ remaining: 1 })
      expect((await app.get('/b1')).status).toBe(200)
      held.abort()
      expect(reached).toEqual(['a1', 'b1'])
    })

    it('SLO-17: a leaky bucket holds in the same line', async () => {
      const { app, reached, one, hold } = await serve(
        slow(forLong, { limit: 1, strategy: 'leaky-bucket', burst: 5, delay: undefined })
      )
      await app.get('/1')
      const held = await hold('/2')
      const refunded = app.get('/3')
      refunded.catch(() => {})
      await within(refunded, 20)
      // Nothing is owed any more, and somebody is held all the same.
      await one.reset('k')
      const last = app.get('/4')
      last.catch(() => {})
      expect(await within(last, 20)).toBe('pending')
      one.close()
      await Promise.all([refunded, last])
      expect(reached).toEqual(['1', '2', '3', '4'])
      expect((await held.answer).status).toBe(200)
    })
  })
}

/** 1000 units for each path but the first, which costs one. */
const costOfPath = ({ url }: { readonly url?: string }) => Math.max(1, Number(url![1]) * 1000)

/** The first letter of the path. */
const keyOfPath = ({ url }: { readonly url?: string }) => url![1]!
