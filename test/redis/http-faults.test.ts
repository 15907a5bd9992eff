import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { type RedisStoreOptions, redisStore } from '../../src/redis/index.js'
import { lines, quotaFields } from '../http/behaviour/client.js'
import { expressFramework } from '../http/behaviour/express.js'
import { fastifyFramework } from '../http/behaviour/fastify.js'
import { type Framework, type Options, servers } from '../http/behaviour/harness.js'
import { freePort } from './support/ports.js'
import { freshPrefix } from './support/stores.js'

const dead = new Redis(await freePort(), '127.0.0.1').on('error', () => {})
afterAll(() => dead.disconnect())

const deadlineMs = 200
/** What HTTP, and a machine that runs other tests, may take beside. */
const noiseMs = 100
const problem = 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity'

/** Clients of a Redis that does not answer: one finds no server, the other no end. */
const clients = { 'no server': dead, 'a silent server': () => new Promise<never>(() => {}) }

function storeOn(name: keyof typeof clients, options: RedisStoreOptions = {}) {
  const onStateChange = () => {}
  return redisStore(clients[name] as never, {
    deadline: deadlineMs,
    prefix: freshPrefix(),
    onStateChange,
    ...options
  })
}

const frameworks: readonly Framework[] = [
  expressFramework('express5'),
  expressFramework('express4'),
  fastifyFramework
]

describe.each(frameworks)('$name, where Redis is dead', (framework) => {
  const run = servers(framework)
  const rule = { limit: 5, window: '1m' } as const
  const timed = async <T>(ask: Promise<T>): Promise<[T, number]> => {
    const begun = performance.now()
    return [await ask, performance.now() - begun]
  }

  it.each(Object.keys(clients) as (keyof typeof clients)[])(
    'STO-06: passes in time, open: %s',
    async (name) => {
      const app = await run({ global: { ...rule, store: storeOn(name), onStoreError: 'allow' } as Options })
      for (let i = 0; i < 5; i++) {
        const [answer, ms] = await timed(app.send())
        expect([answer.status, quotaFields(answer)]).toEqual([200, []])
        expect(ms).toBeLessThan(deadlineMs + noiseMs)
      }
    }
  )

  it.each(Object.keys(clients) as (keyof typeof clients)[])(
    'STO-06, STO-08: refuses in time, closed, and not as a limit exceeded: %s',
    async (name) => {
      const app = await run({ global: { ...rule, store: storeOn(name), onStoreError: 'deny' } as Options })
      for (const accept of ['application/problem+json', 'application/json', 'text/plain']) {
        const [answer, ms] = await timed(app.send({ headers: { accept } }))
        expect(ms).toBeLessThan(deadlineMs + noiseMs)
        expect(answer.status).toBe(503)
        expect(quotaFields(answer).join().toLowerCase()).toBe('retry-after')
        expect(Number(lines(answer, 'Retry-After')[0])).toBe(1)
        expect(answer.rawHeaders.join() + answer.body).not.toMatch(/NaN|undefined|null|Infinity/)
        if (accept.includes('problem'))
          expect(JSON.parse(answer.body)).toMatchObject({ type: problem, status: 503 })
      }
    }
  )

  it('STO-06: three limiters on one route wait once where there is no server', async () => {
    const store = storeOn('no server')
    const limiter = (name: string) => ({ ...rule, name, store, onStoreError: 'allow' }) as Options
    const routes = [{ path: '/', limit: limiter('first'), also: [limiter('second'), limiter('third')] }]
    const app = await run({ routes })
    const [first, firstMs] = await timed(app.send())
    expect([first.status, firstMs < deadlineMs + noiseMs]).toEqual([200, true])
    const [second, secondMs] = await timed(app.send())
    expect([second.status, secondMs < noiseMs]).toEqual([200, true])
  })

  it('STO-06: and until the breaker opens where a server is silent', async () => {
    const store = storeOn('a silent server', { breaker: { failures: 2 } })
    const limiter = (name: string) => ({ ...rule, name, store, onStoreError: 'allow' }) as Options
    const routes = [{ path: '/', limit: limiter('first'), also: [limiter('second'), limiter('third')] }]
    const app = await run({ routes })
    const [first, firstMs] = await timed(app.send())
    expect([first.status, firstMs < 2 * deadlineMs + noiseMs]).toEqual([200, true])
    const [second, secondMs] = await timed(app.send())
    expect([second.status, secondMs < noiseMs]).toEqual([200, true])
  })

  it('STO-11: open is for the store alone: errors of the user’s functions are errors', async () => {
    const fail = () => {
      throw new Error('of the user')
    }
    const open = { store: storeOn('no server'), onStoreError: 'allow' } as const
    for (const options of [
      { ...rule, ...open, key: fail },
      { window: '1m', name: 'computed', ...open, limit: async () => fail() }
    ]) {
      const app = await run({ global: options as unknown as Options, collectErrors: true })
      expect((await app.send()).status).toBe(500)
      expect(String(app.errors)).toContain('of the user')
    }
  })

  it('STO-11: an outage is told once', async () => {
    const store = storeOn('no server', { onStateChange: undefined })
    const app = await run({ global: { ...rule, store, onStoreError: 'allow' } as Options })
    for (let i = 0; i < 8; i++) expect((await app.send()).status).toBe(200)
    expect(await app.warnings('HEADGATE_STORE_FAILED')).toHaveLength(1)
  })
})
