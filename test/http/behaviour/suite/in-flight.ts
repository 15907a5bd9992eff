import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Answer, header, lines, quotaFields } from '../client.js'
import {
  type Exchange,
  type Framework,
  gate,
  type Handler,
  manualClock,
  type Options,
  type Running,
  servers,
  turns,
  until,
  within
} from '../harness.js'

/** The response of Node behind that of a framework, which leaves it to the handler from then on. */
function raw({ response }: Exchange): ServerResponse {
  const { hijack, raw } = response as { hijack?: () => void; raw?: ServerResponse }
  hijack?.call(response)
  return raw ?? (response as { res?: ServerResponse }).res ?? (response as ServerResponse)
}

/** Handlers that answer when they are told to. */
function holding() {
  const held: ReturnType<typeof gate<void>>[] = []
  const handler: Handler = async () => {
    const one = gate()
    held.push(one)
    await one.promise
  }
  return {
    handler,
    held,
    /** Waits until so many have begun. */
    begun: (count: number) => until(() => held.length >= count),
    async end(at = held.length - 1) {
      held[at]!.open()
      await turns()
    }
  }
}

const one = (options: object) => ({ key: () => 'k', ...options }) as unknown as Options

/** How many permits are free of the key of all requests. */
async function free(app: Running, instance = 'one'): Promise<number> {
  const { tiers } = await app.limiters[instance]!.peek('k')
  return tiers.find(({ policy }) => policy.unit === 'concurrent-requests')!.remaining
}

const allFree = (app: Running, count: number, instance = 'one') =>
  untilAsync(async () => (await free(app, instance)) === count)

async function untilAsync(holds: () => Promise<boolean>): Promise<void> {
  let does = false
  const look = async () => {
    does = await holds()
  }
  await until(() => {
    void look()
    return does
  })
}

/** What is counted in flight, from the first byte of a request to the last of its response. */
export function inFlight(framework: Framework): void {
  const run = servers(framework)
  /** A route with this limiter, and perhaps another after it. */
  const serve = (options: object, handler?: Handler, later?: object) =>
    run({
      instances: { one: one(options), ...(later && { later: one(later) }) },
      collectErrors: true,
      routes: [
        {
          path: '/',
          instances: later === undefined ? ['one'] : ['one', 'later'],
          ...(handler && { handler })
        }
      ]
    })

  describe('requests in flight', () => {
    it('INF-01: no more at once than the limit; whoever ends lets in the next', async () => {
      const { handler, begun, end } = holding()
      const app = await serve({ concurrency: 2, headers: 'draft-11' }, handler)
      const [first, second] = [app.get(), app.get()]
      await begun(2)
      const denied = await app.get()
      expect(denied.status).toBe(429)
      expect(lines(denied, 'RateLimit-Policy')).toEqual(['"default";q=2;qu="concurrent-requests"'])
      expect(lines(denied, 'RateLimit')).toEqual(['"default";r=0'])
      // Nobody knows yet how long a request takes.
      expect(header(denied, 'Retry-After')).toBeUndefined()
      await end(0)
      const answers = await Promise.race([first, second])
      expect(answers.status).toBe(200)
      expect(lines(answers, 'RateLimit')[0]).toMatch(/^"default";r=[01]$/)
      const third = app.get()
      await begun(3)
      await end(1)
      await end(2)
      expect((await third).status).toBe(200)
      await allFree(app, 2)
    })

    it('INF-02: fields that speak of windows do not speak of it; the body says why', async () => {
      const { handler, begun, end } = holding()
      const app = await serve({ concurrency: 1 }, handler)
      const first = app.get()
      await begun(1)
      const denied = await app.get()
      expect(quotaFields(denied)).toEqual([])
      expect(denied.body).toContain('retry later')
      await end()
      expect(quotaFields(await first)).toEqual([])
    })

    it('INF-03: an estimate of the wait once one has been seen', async () => {
      const clock = manualClock()
      const { handler, begun, end } = holding()
      const app = await serve(
        { concurrency: 1, ...(framework.hasStoreClock ? {} : { now: clock.read }) },
        handler
      )
      const first = app.get()
      await begun(1)
      clock.pass(2500)
      await end()
      await first
      await allFree(app, 1)
      const second = app.get()
      await begun(2)
      const wait = Number(header(await app.get(), 'Retry-After'))
      expect(wait).toBeGreaterThanOrEqual(1)
      if (!framework.hasStoreClock) expect(wait).toBe(3)
      await end()
      await second
    })

    it('INF-04: a request is given back if its handler fails', async () => {
      const fails: Handler[] = [
        () => {
          throw new Error('at once')
        },
        async () => {
          throw new Error('later')
        }
      ]
      for (const handler of fails) {
        const app = await serve({ concurrency: 1 }, handler)
        expect(await app.statuses([{}, {}, {}])).toEqual([500, 500, 500])
        await allFree(app, 1)
      }
    })

    it('INF-05: a client that leaves gives back what its handler never will', async () => {
      const { handler, begun } = holding()
      const app = await serve({ concurrency: 1 }, handler)
      const gone = app.open()
      gone.answer.catch(() => {})
      await begun(1)
      expect(await free(app)).toBe(0)
      gone.abort()
      await allFree(app, 1)
      const next = app.get()
      await begun(2)
      next.catch(() => {})
    })

    it('INF-06: so does one that leaves amid the body, and one that has read all of it', async () => {
      const open: ServerResponse[] = []
      const app = await serve({ concurrency: 2 }, async (exchange) => {
        const response = raw(exchange)
        open.push(response)
        response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        response.write('data: 1\n\n')
        await new Promise((resolve) => response.once('close', resolve))
      })
      const [stays, leaves] = [app.open(), app.open()]
      leaves.answer.catch(() => {})
      await until(() => open.length === 2)
      expect(await free(app)).toBe(0)
      leaves.abort()
      await allFree(app, 1)
      for (const response of open) response.end()
      expect((await stays.answer).body).toContain('data: 1')
      await allFree(app, 2)
    })

    it('INF-20: requests that were pipelined come back with their connection, and wait for nothing without it', async () => {
      const { handler, begun, held } = holding()
      const app = await serve({ concurrency: 5, queue: 5, maxWait: '1m' }, handler)
      const socket = app.pipeline(8)
      await begun(5)
      expect(await free(app)).toBe(0)
      socket.destroy()
      await allFree(app, 5)
      for (const one of held) one.open()
      await turns()
      // Nobody who was in line is served now.
      expect(held).toHaveLength(5)
      expect(await free(app)).toBe(5)
    })

    it('INF-07: what is upgraded is in flight for as long as its socket lives', async () => {
      const app = await serve({ concurrency: 1 }, async (exchange) => {
        const { socket } = raw(exchange)
        socket!.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
        await new Promise((resolve) => socket!.once('close', resolve))
      })
      const socket = await app.upgrade()
      await turns()
      expect(await free(app)).toBe(0)
      socket.destroy()
      await allFree(app, 1)
    })

    it('INF-08: `release` gives it back early, and once', async () => {
      const { handler, held } = holding()
      const app = await serve({ concurrency: 2 }, async (exchange) => {
        const { rateLimit } = exchange.request
        rateLimit!.release()
        rateLimit!.release()
        await handler(exchange)
      })
      const asked = [app.get(), app.get()]
      await until(() => held.length === 2)
      // A store outside the process hears of it a moment later.
      await allFree(app, 2)
      asked.push(app.get())
      await until(() => held.length === 3)
      await allFree(app, 2)
      for (const one of held) one.open()
      for (const answer of asked) expect((await answer).status).toBe(200)
      await allFree(app, 2)
    })

    it('a client that leaves before it is decided about is to `countOnly` what `aborted` says', async () => {
      let asked = 0
      const ready = gate<void>()
      const { handler, held } = holding()
      const app = await serve(
        {
          limits: [{ limit: 3, window: '1d' }, { concurrency: 1 }],
          countOnly: 'failures',
          aborted: 'success',
          key: async () => {
            asked++
            await ready.promise
            return 'k'
          }
        },
        handler
      )
      const leaving = app.open()
      leaving.answer.catch(() => {})
      await until(() => asked === 1)
      leaving.abort()
      // The server learns of the abort from its socket: a moment for that.
      await new Promise((resolve) => setTimeout(resolve, 15))
      ready.open()
      await turns()
      await untilAsync(async () => {
        const { tiers } = await app.limiters.one!.peek('k')
        return tiers.map(({ remaining }) => remaining).join() === '3,1'
      })
      expect(held).toEqual([])
    })

    it('INF-09: beside windows, all or nothing', async () => {
      const { handler, begun, end } = holding()
      const limits = [{ limit: 3, window: '1d' }, { concurrency: 1 }]
      const app = await serve({ limits }, handler)
      const first = app.get()
      await begun(1)
      expect(await app.statuses([{}, {}, {}, {}])).toEqual([429, 429, 429, 429])
      await end()
      await first
      await allFree(app, 1)
      const second = app.get()
      await begun(2)
      await end()
      await second
      await allFree(app, 1)
      const third = app.get()
      await begun(3)
      await end()
      expect((await third).status).toBe(200)
      await allFree(app, 1)
      // Now the window denies, and takes no permit.
      expect((await app.get()).status).toBe(429)
      expect(await free(app)).toBe(1)
    })

    it('INF-10: a denial by a later limiter gives back what the first has given', async () => {
      const app = await serve({ concurrency: 1 }, undefined, { limit: 1, window: '1d' })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 429, 429])
      await allFree(app, 1)
    })

    it('INF-11: a request that a leaky bucket holds is in flight, until its client leaves', async () => {
      const shaped = { limit: 1, window: '1d', strategy: 'leaky-bucket', burst: 5 }
      const app = await serve({ concurrency: 5 }, undefined, shaped)
      expect((await app.get()).status).toBe(200)
      await allFree(app, 5)
      const held = app.open()
      held.answer.catch(() => {})
      await untilAsync(async () => (await free(app)) === 4)
      held.abort()
      await allFree(app, 5)
    })

    it('INF-12: computed for each request, 0 denies, and `cost` is how many permits', async () => {
      const { handler, begun, end } = holding()
      const options = {
        concurrency: ({ headers }: { headers: object }) =>
          Number((headers as Record<string, string>)['x-limit']),
        cost: ({ headers }: { headers: object }) => Number((headers as Record<string, string>)['x-cost'] ?? 1)
      }
      const app = await serve(options, handler)
      const ask = (limit: number, cost = 1) =>
        app.get('/', { 'X-Limit': String(limit), 'X-Cost': String(cost) })
      expect((await ask(0)).status).toBe(429)
      const first = ask(3, 2)
      await begun(1)
      expect((await ask(3, 2)).status).toBe(429)
      expect((await ask(2)).status).toBe(429)
      const second = ask(3)
      await begun(2)
      await end(0)
      await end(1)
      expect([(await first).status, (await second).status]).toEqual([200, 200])
    })

    it('INF-13: a route and a policy may say it, as any limit', async () => {
      const { handler, begun, end } = holding()
      const app = await run({
        policies: { slow: { concurrency: 1 } as Options },
        global: { limit: 100, window: '1m' },
        routes: [
          { path: '/named', limit: 'slow', handler },
          { path: '/also-named', limit: 'slow' },
          { path: '/own', limit: { concurrency: 1 } as Options },
          { path: '/' }
        ]
      })
      const first = app.get('/named')
      await begun(1)
      expect(await app.statuses(['/also-named', '/named', '/own', '/'].map((path) => ({ path })))).toEqual([
        429, 429, 200, 200
      ])
      await end()
      expect((await first).status).toBe(200)
    })

    it('INF-14: what is only watched denies nobody, and waits for nobody', async () => {
      const { handler, begun, held } = holding()
      const app = await serve({ concurrency: 1, queue: 5, maxWait: '1m', shadow: true }, handler)
      const asked = [app.get(), app.get(), app.get()]
      await begun(3)
      for (const one of held) one.open()
      for (const answer of asked) expect((await answer).status).toBe(200)
      await allFree(app, 1)
    })
  })

  // With a store outside the process it is refused.
  if (framework.hasStoreClock !== true)
    it('INF-19: a limit that finds itself gives way to a 503, and not to a 404', async () => {
      const app = await serve(
        { concurrency: { adaptive: 'aimd', initial: 10, max: 20 } },
        ({ request, send }) => send(Number(request.headers['x-status']))
      )
      const limit = async () => (await app.limiters.one!.peek('k')).limit
      const ask = (status: number) => app.get('/', { 'X-Status': String(status) })
      for (let i = 0; i < 20; i++) expect((await ask(404)).status).toBe(404)
      await allFree(app, 10)
      expect(await limit()).toBe(10)
      for (let i = 0; i < 20; i++) expect((await ask(503)).status).toBe(503)
      expect(await limit()).toBeLessThan(10)
    })

  describe('a line', () => {
    const queue = (more: object = {}) => ({ concurrency: 1, queue: 2, maxWait: '1m', ...more })

    it('INF-15: lets in by order of arrival, and denies at once who finds it full', async () => {
      const { handler, begun, end, held } = holding()
      const app = await serve(queue(), handler)
      const order: number[] = []
      const ask = async (at: number) => {
        const answer = await app.get()
        order.push(at)
        return answer
      }
      const asked: Promise<Answer>[] = []
      for (const at of [0, 1, 2]) {
        asked.push(ask(at))
        if (at === 0) await begun(1)
        else await settled(app)
      }
      expect((await app.get()).status).toBe(429)
      for (const at of [0, 1, 2]) {
        await begun(at + 1)
        expect(held).toHaveLength(at + 1)
        await end(at)
      }
      for (const answer of asked) expect((await answer).status).toBe(200)
      expect(order).toEqual([0, 1, 2])
      await allFree(app, 1)
    })

    it('INF-16: who leaves gives up the place, and is never served', async () => {
      const { handler, begun, end, held } = holding()
      const app = await serve(queue(), handler)
      const first = app.get()
      await begun(1)
      const leaves = app.open()
      leaves.answer.catch(() => {})
      await settled(app)
      const last = app.get()
      await settled(app)
      leaves.abort()
      await settled(app)
      await end(0)
      await first
      await begun(2)
      await end(1)
      expect((await last).status).toBe(200)
      expect(held).toHaveLength(2)
      await allFree(app, 1)
    })

    it('INF-17: a wait that ends is a 429', async () => {
      const { handler, begun, end } = holding()
      // A millisecond, as the test is to wait for it.
      const app = await serve(queue({ maxWait: 1 }), handler)
      const first = app.get()
      await begun(1)
      expect((await app.get()).status).toBe(429)
      await end()
      await first
      await allFree(app, 1)
    })

    it('INF-18: a shutdown is a 503 at once, to those who wait, and to those who would', async () => {
      const { handler, begun, end } = holding()
      const app = await serve(queue(), handler)
      const first = app.get()
      await begun(1)
      const waits = app.get()
      await settled(app)
      app.limiters.one!.close()
      const ended = (await within(waits, 2000)) as Answer
      expect(ended.status).toBe(503)
      expect(header(ended, 'Retry-After')).toBeUndefined()
      expect((await app.get()).status).toBe(503)
      await end()
      expect((await first).status).toBe(200)
    })
  })

  /** Lets requests that were sent reach their limiter. */
  async function settled(app: Running): Promise<void> {
    await turns()
    await app.get('/not-there')
    await turns()
  }
}
