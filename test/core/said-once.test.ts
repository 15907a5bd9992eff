import { Test } from '@nestjs/testing'
import Fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import { rateLimit as express } from '../../src/express/index.js'
import { rateLimit as fastify } from '../../src/fastify/index.js'
import { createLimiter, guard, Limit, limitsOf } from '../../src/index.js'
import { RateLimitModule } from '../../src/nest/index.js'

type Options = Readonly<Record<string, unknown>>

let emit: MockInstance<typeof process.emitWarning>

beforeEach(() => {
  emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emit.mockRestore())

/** What was said under a code. */
const said = (code: string) =>
  emit.mock.calls.filter(([, options]) => (options as unknown as { code: string }).code === code).map(String)

const places: readonly (readonly [string, (options: Options) => unknown])[] = [
  ['createLimiter', (options) => createLimiter(options as never)],
  ['Express', (options) => express(options as never)],
  [
    'the Fastify plugin',
    async (options) =>
      void (await Fastify()
        .register(fastify, options as never)
        .ready())
  ],
  [
    'a Fastify policy',
    async (policy) =>
      void (await Fastify()
        .register(fastify, { policies: { a: policy as never } })
        .ready())
  ],
  [
    'the NestJS module',
    (options) => Test.createTestingModule({ imports: [RateLimitModule.forRoot(options as never)] }).compile()
  ]
]

describe.each(places)('at %s', (place, make) => {
  // Each value is told of once.
  const windowMs = 100 + places.findIndex(([name]) => name === place)

  it('a window below 1000 is told of once, with the line for seconds', async () => {
    for (let i = 0; i < 3; i++) await make({ limit: 5, window: windowMs })
    expect(said('HEADGATE_SHORT_WINDOW')).toEqual([
      expect.stringMatching(
        `\`window: ${windowMs}\` is ${windowMs} milliseconds\\. For seconds write \`window: '${windowMs}s'\``
      )
    ])
  })

  it('a longer one, one with a unit, and one on a clock of its own are not', async () => {
    await make({ limit: 5, window: 1000 })
    await make({ limit: 6, window: '500ms', block: '500ms' })
    await make({ limit: 7, window: 600 + windowMs, now: () => 0 })
    expect(said('HEADGATE_SHORT_WINDOW')).toEqual([])
  })

  it('counting of denied requests that changes nothing is told of once', async () => {
    await make({ limit: 5, window: '1m', countDenied: true, align: 'first-request' })
    await make({ limit: 9, window: '1m', countDenied: true })
    expect(said('HEADGATE_IDLE_OPTION')).toEqual([expect.stringMatching('`countDenied` of .* take `block`')])
  })

  it('counting of denied requests that changes something is not', async () => {
    for (const strategy of ['sliding-window', 'sliding-log', 'token-bucket', 'gcra', 'leaky-bucket'])
      await make({ limit: 5, window: '1m', strategy, countDenied: true })
    const limits = [
      { limit: 5, window: '1m' },
      { limit: 50, window: '1h' }
    ]
    await make({ limits, countDenied: true })
    if (place !== 'createLimiter') await make({ limit: 6, window: '1m', countDenied: true, cost: () => 2 })
    expect(said('HEADGATE_IDLE_OPTION')).toEqual([])
  })
})

describe('a number that is meant as seconds', () => {
  it('is told of in the shorthands, in tiers, as a block, and from a function', async () => {
    guard.limit('ip', 100, 1)
    class Cats {
      list() {}
    }
    Limit('ip', 100, 2)(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Cats.prototype, 'list')!)
    limitsOf(Cats, express as never)
    createLimiter({
      limits: [
        { limit: 5, window: 3 },
        { limit: 9, window: '1m' }
      ]
    })
    createLimiter({ limit: 5, window: '1m', block: 4 })
    const app = Fastify().register(fastify, { limit: 5, window: () => 5 })
    app.get('/', async () => '')
    for (let i = 0; i < 2; i++) await app.inject('/')
    expect(said('HEADGATE_SHORT_WINDOW')).toEqual([
      expect.stringMatching('`window: 1` is 1 millisecond\\.'),
      expect.stringMatching('`window: 2` is 2 milliseconds\\.'),
      expect.stringMatching('`window: 3`'),
      expect.stringMatching("`block: 4` .*`block: '4s'`"),
      expect.stringMatching('`window: 5`')
    ])
  })
})
