import vm from 'node:vm'
import express, { type ErrorRequestHandler } from 'express'
import Fastify from 'fastify'
import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import type { AsyncBuckets } from '../../src/core/async-store.js'
import { rateLimit } from '../../src/express/index.js'
import fastify from '../../src/fastify/index.js'
import { createLimiter, HeadgateError, memoryStore } from '../../src/index.js'
import { asyncMemory } from '../support/async-memory.js'

const minute = { window: '1m', now: () => 1_700_000_000_000 } as const
const elsewhere = vm.createContext({ setImmediate })

/** A store whose promises are of another realm, or have nothing but a `then`. */
function storeOf(thenable: (promise: Promise<unknown>) => unknown) {
  const store = asyncMemory(minute.now)
  return {
    openAsync(options: Parameters<typeof store.openAsync>[0]) {
      const buckets = store.openAsync(options)
      return new Proxy(buckets, {
        get:
          (_, name: keyof AsyncBuckets) =>
          (...args: unknown[]) =>
            thenable((buckets[name] as (...args: unknown[]) => Promise<unknown>)(...args))
      })
    }
  }
}

const kinds: [string, (promise: Promise<unknown>) => unknown][] = [
  [
    'a bare `then`',
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    (promise) => ({ then: (resolve: never, reject: never) => void promise.then(resolve, reject) })
  ],
  [
    'a function with a `then`',
    (promise) =>
      Object.assign(() => {}, {
        // biome-ignore lint/suspicious/noThenProperty: that is what is tested
        then: (resolve: never, reject: never) => void promise.then(resolve, reject)
      })
  ],
  [
    'a promise of another realm',
    (promise) =>
      vm.runInContext('(promise) => new Promise((resolve) => resolve(promise))', elsewhere)(promise)
  ]
]

describe.each(kinds)('%s is awaited', (_, late) => {
  const give = (value: unknown) => () => late(Promise.resolve(value)) as never
  const statuses = async (options: object, count = 2) => {
    const app = express()
    app.use(rateLimit({ limit: 1, ...minute, ...options } as never))
    app.use((_request, response) => void response.end('ok'))
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await request(app).get('/')).status)
    return found
  }

  it('from a store', async () => {
    const { now, ...rest } = minute
    expect(await statuses({ ...rest, now: undefined, store: storeOf(late) })).toEqual([200, 429])
    const limiter = createLimiter({ limit: 5, window: '1m', store: storeOf(late) as never })
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 4 })
    await limiter.refund('k')
    expect(await limiter.peek('k')).toMatchObject({ remaining: 5 })
  })

  it('from a store that is charged late', async () => {
    const app = express()
    const limiter = rateLimit({ limit: 9, window: '1m', store: storeOf(late), key: () => 'k' })
    app.use(limiter, async (request, response) => {
      await request.rateLimit?.charge(3)
      await request.rateLimit?.refund()
      await request.rateLimit?.charge(2)
      response.end('ok')
    })
    expect((await request(app).get('/')).headers['ratelimit-remaining']).toBe('7')
    expect(await limiter.limiter.peek('k')).toMatchObject({ remaining: 7 })
  })

  it.each([
    ['skip', give(true), [200, 200]],
    ['skip', give(false), [200, 429]],
    ['key', give('k'), [200, 429]],
    ['key', [give('a'), give('b')], [200, 429]],
    ['cost', give(1), [200, 429]],
    ['limit', give(1), [200, 429]],
    ['window', give('1m'), [200, 429]],
    ['message', give('slow'), [200, 429]],
    ['onLimited', give({ error: 'slow' }), [200, 429]],
    ['countOnly', give(true), [200, 429]],
    ['countOnly', give(false), [200, 200]]
  ])('from `%s`: %o', async (option, value, expected) => {
    expect(await statuses({ [option]: value })).toEqual(expected)
  })
})

describe('errors of another realm', () => {
  const foreign = () =>
    vm.runInContext(
      "Object.assign(new RangeError('of another realm'), { code: 'E_OWN', status: 418 })",
      elsewhere
    )

  it.each(['throws', 'rejects'])('keep class and code on Express, where a function %s', async (way) => {
    const error = foreign()
    const seen: unknown[] = []
    const app = express()
    const fail =
      way === 'throws'
        ? () => {
            throw error
          }
        : () => Promise.reject(error)
    app.use(rateLimit({ limit: 1, ...minute, key: fail }))
    const catcher: ErrorRequestHandler = (caught, _request, response, _next) => {
      seen.push(caught)
      response.status(caught.status).end()
    }
    app.use(catcher)
    expect((await request(app).get('/')).status).toBe(418)
    expect(seen).toEqual([error])
    expect(seen[0]).toBe(error)
  })

  it('keep them on Fastify', async () => {
    const app = Fastify()
    const error = foreign()
    await app.register(fastify, {
      limit: 1,
      ...minute,
      key: () => {
        throw error
      }
    })
    app.setErrorHandler((caught, _request, reply) =>
      reply.code(418).send({ code: (caught as { code?: string }).code })
    )
    app.get('/', async () => 'ok')
    const answer = await app.inject('/')
    expect([answer.statusCode, answer.json()]).toEqual([418, { code: 'E_OWN' }])
  })
})

describe('HeadgateError', () => {
  it('is one class for all copies of the package in a process', async () => {
    vi.resetModules()
    const other = await import('../../src/index.js')
    expect(other.HeadgateError).not.toBe(HeadgateError)
    const caught = (make: () => unknown) => {
      try {
        return make()
      } catch (error) {
        return error
      }
    }
    const theirs = caught(() => other.createLimiter({ limit: 0, window: '1m' }))
    const ours = caught(() => createLimiter({ limit: 0, window: '1m' }))
    for (const error of [theirs, ours]) {
      expect(error).toBeInstanceOf(HeadgateError)
      expect(error).toBeInstanceOf(other.HeadgateError)
      expect(error).toMatchObject({ name: 'HeadgateError', code: 'HEADGATE_BAD_OPTION' })
    }
  })

  it('is not the class of other errors, nor are subclasses that of all of its errors', () => {
    class Own extends HeadgateError {}
    const error = new HeadgateError('HEADGATE_MISUSE', 'text')
    const own = new Own('HEADGATE_MISUSE', 'text')
    expect([error instanceof Own, own instanceof Own, own instanceof HeadgateError]).toEqual([
      false,
      true,
      true
    ])
    for (const other of [new Error('x'), { code: 'HEADGATE_MISUSE' }, null, undefined, 'text', memoryStore()])
      expect(other instanceof HeadgateError).toBe(false)
    expect(Object.keys(error)).toEqual(['code', 'name'])
  })
})
