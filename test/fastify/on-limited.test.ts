import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import Fastify50 from 'fastify50'
import { describe, expect, it } from 'vitest'
import rateLimit, { type RateLimitPluginOptions } from '../../src/fastify/index.js'

const one = { limit: 1, window: '1m', now: () => 1_699_999_200_000 } as const

describe.each([
  ['the newest Fastify', Fastify],
  ['Fastify 5.0', Fastify50 as unknown as typeof Fastify]
])('onLimited on %s', (_, make) => {
  const denied = async (
    onLimited: RateLimitPluginOptions['onLimited'],
    set: (app: FastifyInstance) => void = () => {}
  ) => {
    const app = make()
    set(app)
    await app.register(rateLimit, { ...one, onLimited } as RateLimitPluginOptions)
    app.get('/', async () => 'ok')
    await app.inject('/')
    const answer = await app.inject('/')
    await app.close()
    return answer
  }
  const slowly = (app: FastifyInstance) => {
    app.addHook('onSend', async (_request, _reply, payload) => {
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
      return payload
    })
  }

  it.each([
    ['sends', (reply: FastifyReply) => void reply.code(418).send({ mine: true }), 418, '{"mine":true}'],
    ['sends, by the status of a denial', (reply: FastifyReply) => void reply.send('mine'), 429, 'mine'],
    ['redirects', (reply: FastifyReply) => void reply.redirect('/sorry'), 302, ''],
    ['redirects for ever', (reply: FastifyReply) => void reply.redirect('/sorry', 308), 308, '']
  ])(
    'is the whole answer where it %s and returns nothing, before hooks that are async',
    async (_name, answers, status, body) => {
      const ways = [
        (reply: FastifyReply) => answers(reply),
        async (reply: FastifyReply) => answers(reply),
        async (reply: FastifyReply) => {
          await Promise.resolve()
          answers(reply)
        }
      ]
      for (const way of ways)
        for (const set of [slowly, () => {}]) {
          const answer = await denied((_request, reply) => way(reply), set)
          expect([answer.statusCode, answer.body]).toEqual([status, body])
          expect(answer.headers['retry-after']).toBe('60')
        }
    }
  )

  it('redirects by 302 where an earlier hook has set a status', async () => {
    const answer = await denied(
      (_request, reply) => reply.redirect('/sorry'),
      (app) => app.addHook('onRequest', async (_request, reply) => void reply.code(201))
    )
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/sorry'])
  })

  it.each(['throws', 'rejects', 'throws late'])(
    'leaves the status to the error handler where it %s',
    async (way) => {
      const error = new Error('of onLimited')
      const answer = await denied(
        () => {
          if (way === 'throws') throw error
          if (way === 'rejects') return Promise.reject(error)
          return new Promise((_resolve, reject) => setImmediate(reject, error))
        },
        (app) => void app.setErrorHandler((_error, _request, reply) => reply.redirect('/sorry'))
      )
      expect([answer.statusCode, answer.headers.location]).toEqual([302, '/sorry'])
    }
  )

  it('is an error of 500 where it throws, and of its own status where the error has one', async () => {
    const plain = await denied(() => {
      throw new Error('of onLimited')
    })
    expect(plain.json()).toEqual({ statusCode: 500, error: 'Internal Server Error', message: 'of onLimited' })
    const own = await denied(() => {
      throw Object.assign(new Error('of onLimited'), { statusCode: 423 })
    })
    expect(own.json()).toMatchObject({ statusCode: 423, message: 'of onLimited' })
  })

  it('an error that it returns has the error handler, with the status of the denial', async () => {
    const seen: unknown[] = []
    const error = new Error('locked')
    const answer = await denied(
      () => error,
      (app) =>
        void app.setErrorHandler((caught, _request, reply) => {
          seen.push(caught)
          return reply.send({ handled: (caught as Error).message })
        })
    )
    expect(seen).toEqual([error])
    expect(answer.json()).toEqual({ handled: 'locked' })
    const plain = await denied(() => new Error('locked'))
    expect([plain.statusCode, plain.json()]).toEqual([
      429,
      { statusCode: 429, error: 'Too Many Requests', message: 'locked' }
    ])
  })
})
