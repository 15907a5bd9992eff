import express from 'express'
import Fastify from 'fastify'
import request from 'supertest'
import { afterAll, describe, expect, it, vi } from 'vitest'

type Copy = typeof import('../../src/express/index.js') & typeof import('../../src/hosts/guard.js')

/** The package once more, as a second version of it in the tree of dependencies, or after `jest.resetModules()`. */
async function copy(): Promise<Copy> {
  vi.resetModules()
  return { ...(await import('../../src/express/index.js')), ...(await import('../../src/hosts/guard.js')) }
}

const [first, second] = [await copy(), await copy()]
const minute = { window: '1m', now: () => 1_699_999_200_000 } as const

afterAll(() => vi.resetModules())

describe('two copies of the package on one request', () => {
  it('are two', () => {
    expect(first.rateLimit).not.toBe(second.rateLimit)
  })

  it.each([
    ['first', 'second'],
    ['second', 'first']
  ] as const)('know of each other’s decisions: %s, then %s', async (one, two) => {
    const copies = { first, second }
    const app = express()
    const limit = (copy: Copy, name: string, of: number) =>
      copy.rateLimit({ name, limit: of, ...minute, headers: 'draft-11' })
    app.use(limit(copies[one], 'a', 9), limit(copies[two], 'b', 5), limit(copies[one], 'c', 7))
    app.use(async (req, res) => {
      const { rateLimit } = req
      await rateLimit!.charge(1)
      await rateLimit!.previous!.charge(2)
      await rateLimit!.previous!.previous!.charge(3)
      await rateLimit!.previous!.refund()
      res.json([rateLimit, rateLimit!.previous, rateLimit!.previous!.previous].map((one) => one!.policy.name))
    })
    const answer = await request(app).get('/')
    expect(answer.body).toEqual(['c', 'b', 'a'])
    expect(answer.headers.ratelimit).toBe('"a";r=5;t=60, "b";r=2;t=60, "c";r=5;t=60')
    expect(answer.headers['ratelimit-policy']).toBe('"a";q=9;w=60, "b";q=5;w=60, "c";q=7;w=60')
    const next = await request(app).get('/')
    expect(next.headers.ratelimit).toBe('"a";r=1;t=60, "b";r=2;t=60, "c";r=3;t=60')
  })

  it('report the tighter of both where a style reports one, and deny with it', async () => {
    const app = express()
    app.use(first.rateLimit({ limit: 9, ...minute }), second.rateLimit({ limit: 2, ...minute }))
    app.use((_req, res) => void res.end('ok'))
    const answer = await request(app).get('/')
    expect(answer.headers['ratelimit-limit']).toBe('2')
    expect(answer.headers['ratelimit-policy']).toBe('9;w=60, 2;w=60')
    await request(app).get('/')
    const denied = await request(app).get('/')
    expect([denied.status, denied.headers['retry-after']]).toEqual([429, '60'])
    expect(denied.headers['ratelimit-policy']).toBe('9;w=60, 2;w=60')
  })

  it('count a request once each, however often it meets them', async () => {
    const app = express()
    const limits = [first, second].map(({ rateLimit }, i) =>
      rateLimit({ name: `copy-${i}`, limit: 9, ...minute, headers: 'draft-11' })
    )
    app.use(limits, limits, limits)
    app.use((_req, res) => void res.end('ok'))
    expect((await request(app).get('/')).headers.ratelimit).toBe('"copy-0";r=8;t=60, "copy-1";r=8;t=60')
  })

  it('keep partition keys, members of others and the secrets of shadows', async () => {
    const app = express()
    const secret = 'one secret of a deployment'
    app.use((_req, res, next) => {
      res.setHeader('RateLimit', '"edge";r=7;t=3')
      next()
    })
    app.use(
      first.rateLimit({ name: 'a', limit: 9, ...minute, headers: 'draft-11', partitionKey: secret }),
      first.rateLimit({ name: 's', limit: 1, ...minute, headers: 'draft-11', shadow: true }),
      second.rateLimit({ name: 'b', limit: 5, ...minute, headers: 'draft-11', partitionKey: secret })
    )
    app.use((_req, res) => void res.end('ok'))
    const { ratelimit } = (await request(app).get('/')).headers
    expect(ratelimit).toMatch(/^"edge";r=7;t=3, "a";r=8;t=60;pk=(:\S+:), "b";r=4;t=60;pk=\1$/)
  })

  it('are told of together on Fastify', async () => {
    const app = Fastify()
    app.get(
      '/',
      { onRequest: [first.guard.limit('ip', 9, '1h') as never, second.guard.limit('ip', 5, '1h') as never] },
      async (req) => {
        const { rateLimit } = req as unknown as {
          rateLimit: import('../../src/express/index.js').RequestRateLimit
        }
        await rateLimit.previous!.charge(6)
        return [rateLimit.limit, rateLimit.previous!.limit]
      }
    )
    const answer = await app.inject('/')
    expect(answer.json()).toEqual([5, 9])
    expect(answer.headers).toMatchObject({ 'ratelimit-limit': '9', 'ratelimit-remaining': '2' })
  })
})
