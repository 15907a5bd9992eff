import { describe, expect, it } from 'vitest'
import { defineStrategy } from '../../../../src/core/registry.js'
import { type Answer, header } from '../client.js'
import {
  type Framework,
  type Handler,
  type Options,
  servers,
  start,
  turns,
  unhandledDuring,
  within
} from '../harness.js'

const base = { limit: 9, window: '1m', now: () => start } as const
const untyped = (options: object) => options as Options

/** Options whose one function fails in a way. */
const failing: Record<string, (fail: () => unknown) => Options> = {
  skip: (skip) => untyped({ ...base, skip }),
  key: (key) => untyped({ ...base, key }),
  'part of a key': (key) => untyped({ ...base, key: ['ip', key] }),
  limit: (limit) => untyped({ ...base, limit }),
  window: (window) => untyped({ ...base, window }),
  'limit of a tier': (limit) =>
    untyped({
      limits: [
        { limit: 9, window: '1s' },
        { limit, window: '1m' }
      ],
      now: base.now
    }),
  cost: (cost) => untyped({ ...base, cost }),
  onLimited: (onLimited) => untyped({ ...base, limit: () => 0, onLimited }),
  message: (message) => untyped({ ...base, limit: () => 0, message })
}
const canBeAsync = (name: string) => name !== 'message'

/** Things thrown that cannot be made a text. */
const bare = Object.create(null)
const hostile = {
  toString() {
    throw new Error('of toString')
  }
}

function shown(thrown: unknown): string {
  return thrown === bare ? 'bare' : thrown === hostile ? 'hostile' : String(thrown) || "''"
}

/** An answer, or status 0 where there is none in time. */
async function answered(answer: Promise<Answer>): Promise<Pick<Answer, 'status'>> {
  const found = await within(answer, 10_000)
  return found === 'pending' ? { status: 0 } : found
}

/** What becomes of errors. */
export function errors(framework: Framework): void {
  const run = servers(framework)

  describe('errors of the user’s functions', () => {
    const names = framework.isHostOnly === true ? ['key', 'onLimited'] : Object.keys(failing)
    for (const name of names) {
      const ways: [string, (error: unknown) => () => unknown][] = [
        [
          'throws',
          (error) => () => {
            throw error
          }
        ]
      ]
      if (canBeAsync(name))
        ways.push(
          ['rejects', (error) => async () => Promise.reject(error)],
          ['rejects after 10 ms', (error) => () => new Promise((_, reject) => setTimeout(reject, 10, error))]
        )
      for (const [way, fail] of ways) {
        it(`EXP-01, STO-11: ${name} ${way}: the framework’s handler gets it, and nobody is admitted`, async () => {
          const error = new Error(`${name} ${way}`)
          let reached = 0
          const spec = {
            global: failing[name]!(fail(error)),
            routes: [{ path: '/', handler: () => void reached++ }],
            collectErrors: true
          }
          const unhandled = await unhandledDuring(async () => {
            const app = await run(spec)
            expect(await app.statuses([{}, {}])).toEqual([500, 500])
            expect(app.errors).toEqual([error, error])
          })
          expect(unhandled).toEqual([])
          expect(reached).toBe(0)
        })

        it(`${name} ${way}: the framework’s own handler says 500`, async () => {
          const app = await run({ global: failing[name]!(fail(new Error('expected by a test'))) })
          expect((await app.get()).status).toBe(500)
        })
      }

      it(`${name}: what is thrown admits nobody, also where it is no error`, async () => {
        const found: string[] = []
        for (const thrown of [
          undefined,
          null,
          '',
          0,
          false,
          Number.NaN,
          'route',
          'router',
          {},
          'text',
          bare,
          hostile,
          Symbol('s')
        ]) {
          const ways = [
            () => {
              throw thrown
            },
            ...(canBeAsync(name) ? [() => Promise.reject(thrown)] : [])
          ]
          for (const fail of ways) {
            const handler: Handler = ({ send }) => send(299)
            const app = await run({ global: failing[name]!(fail), routes: [{ path: '/', handler }] })
            const own = await run({ routes: [{ path: '/', limit: failing[name]!(fail), handler }] })
            for (const [where, { status }] of [
              ['global', await answered(app.get())],
              ['route', await answered(own.get())]
            ] as const)
              if (status !== 500) found.push(`${where}: ${shown(thrown)} -> ${status}`)
          }
        }
        expect(found).toEqual([])
      })
    }

    it('what failed is not charged', async () => {
      const errors = [new Error('first'), null]
      const app = await run({
        global: untyped({
          ...base,
          cost: () => {
            const error = errors.shift()
            if (error) throw error
            return 1
          }
        }),
        collectErrors: true
      })
      expect((await app.get()).status).toBe(500)
      expect(header(await app.get(), 'RateLimit-Remaining')).toBe('8')
    })

    it.each([
      ['limit rejects and cost throws', { limit: reject, cost: fail }],
      ['limit rejects and window throws', { limit: reject, window: fail }],
      ['window rejects and limit throws', { limit: fail, window: reject }],
      ['limit, window and cost reject', { limit: reject, window: reject, cost: reject }],
      ['a part of the key rejects and the next throws', { key: [reject, fail] }],
      ['two parts of the key reject', { key: [reject, reject] }]
    ])('where %s, one error reaches the handler and none is left unhandled', async (_name, options) => {
      const unhandled = await unhandledDuring(async () => {
        const app = await run({ global: untyped({ ...base, ...options }), collectErrors: true })
        expect((await app.get()).status).toBe(500)
        expect(app.errors).toHaveLength(1)
        await turns()
      })
      expect(unhandled).toEqual([])
    })

    it('where limits of two tiers fail at once, none is left unhandled', async () => {
      const limits = [
        { name: 'a', limit: reject, window: '1s' },
        { name: 'b', limit: fail, window: '1m' }
      ]
      const unhandled = await unhandledDuring(async () => {
        const app = await run({ global: untyped({ limits, now: base.now }), collectErrors: true })
        expect((await app.get()).status).toBe(500)
      })
      expect(unhandled).toEqual([])
    })

    it.each([
      ['throws', fail],
      ['rejects', reject]
    ])(
      'countOnly that %s leaves the request counted, the response whole and the process running',
      async (_way, countOnly) => {
        const unhandled = await unhandledDuring(async () => {
          const app = await run({ global: untyped({ ...base, limit: 2, countOnly }) })
          expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
          await turns()
        })
        expect(unhandled).toEqual([])
      }
    )

    it.each([
      ['throws', fail],
      ['rejects', reject]
    ])('a shadow listener that %s leaves nothing unhandled', async (_way, shadow) => {
      const unhandled = await unhandledDuring(async () => {
        const app = await run({ global: untyped({ ...base, limit: 1, shadow }), collectErrors: true })
        await app.statuses([{}, {}])
        await turns()
      })
      expect(unhandled).toEqual([])
    })

    it.each(['limit', 'window'])(
      'a %s function that returns what is none is an error with a code',
      async (name) => {
        const values = [undefined, null, Number.NaN, -1, 1.5, '5x', 'soon', {}, true, Symbol('x'), 10n]
        const codes = new Set<string>()
        for (const value of values) {
          for (const give of [() => value, async () => value]) {
            const app = await run({ global: untyped({ ...base, [name]: give }), collectErrors: true })
            expect([String(value), await app.statuses([{}])]).toEqual([String(value), [500]])
            codes.add(`${String(value)}: ${(app.errors[0] as { code?: string }).code}`)
          }
        }
        expect([...codes]).toEqual(values.map((value) => `${String(value)}: HEADGATE_BAD_LIMIT`))
      }
    )

    it('a limit as a text is called one, with what to return', async () => {
      const app = await run({ global: untyped({ ...base, limit: () => '5' }), collectErrors: true })
      await app.get()
      expect((app.errors[0] as Error).message).toMatch(/returned "5": return a .* number, not a text/)
    })

    it('a message that is no text is an error, or is not told', async () => {
      for (const value of [5, {}, [], true, undefined, null, Symbol('x')]) {
        const app = await run({ global: untyped({ ...base, limit: () => 0, message: () => value }) })
        for (const accept of ['text/plain', 'application/json', 'application/problem+json']) {
          const answer = await app.get('/', { Accept: accept })
          expect([429, 500]).toContain(answer.status)
          if (answer.status !== 429) continue
          const text =
            accept === 'text/plain' ? answer.body : (JSON.parse(answer.body).message ?? 'Too many requests')
          expect([shown(value), text]).toEqual([shown(value), expect.stringMatching(/^Too many requests/)])
        }
      }
    })

    it('an async message is awaited, or an error', async () => {
      const unhandled = await unhandledDuring(async () => {
        const app = await run({ global: untyped({ ...base, limit: () => 0, message: async () => 'later' }) })
        for (const accept of ['text/plain', 'application/json']) {
          const answer = await app.get('/', { Accept: accept })
          if (answer.status === 429) expect(answer.body).toContain('later')
          else expect(answer.status).toBe(500)
        }
        const failing = await run({ global: untyped({ ...base, limit: () => 0, message: reject }) })
        expect((await failing.get()).status).toBe(500)
      })
      expect(unhandled).toEqual([])
    })

    // The clock of a store outside of the process is the server's.
    if (!framework.hasStoreClock)
      it('a clock that fails or says no time admits nobody', async () => {
        for (const now of [fail, () => Number.NaN, () => undefined, () => 'now', () => ({})]) {
          const app = await run({ global: untyped({ ...base, now }), collectErrors: true })
          expect([String(now), await app.statuses([{}, {}])]).toEqual([String(now), [500, 500]])
        }
      })

    it('a strategy that fails admits nobody', async () => {
      const strategy = { name: `broken ${framework.name}`, slots: () => 1, check: fail, charge: fail }
      const app = await run({
        global: untyped({ ...base, strategy: defineStrategy(strategy) }),
        collectErrors: true
      })
      expect(await app.statuses([{}, {}])).toEqual([500, 500])
    })
  })

  describe('errors further on', () => {
    const ways: [string, Partial<Options>][] = [
      ['a sync limiter', {}],
      ['an async limiter', { key: async () => 'k' }],
      [
        'a limiter that holds',
        { strategy: 'leaky-bucket', burst: 8, limit: 1, window: 2 } as Partial<Options>
      ]
    ]

    for (const [name, more] of ways) {
      it(`${name}: a handler that throws is not swallowed, nor called again`, async () => {
        const error = new Error('of the handler')
        let calls = 0
        const app = await run({
          global: untyped({ ...base, ...more }),
          routes: [
            {
              path: '/',
              handler: () => {
                calls++
                throw error
              }
            }
          ],
          collectErrors: true
        })
        expect(await app.statuses([{}, {}])).toEqual([500, 500])
        expect(app.errors).toEqual([error, error])
        expect(calls).toBe(2)
      })

      it(`${name}: a handler that rejects is not swallowed, nor called again`, async () => {
        const error = new Error('of the handler')
        let calls = 0
        const unhandled = await unhandledDuring(async () => {
          const app = await run({
            global: untyped({ ...base, ...more }),
            routes: [
              {
                path: '/',
                handler: async () => {
                  calls++
                  throw error
                }
              }
            ],
            collectErrors: true
          })
          expect(await app.statuses([{}, {}])).toEqual([500, 500])
          expect(app.errors).toEqual([error, error])
        })
        expect(unhandled).toEqual([])
        expect(calls).toBe(2)
      })
    }

    it('an error keeps the fields of the response where the handler of errors does', async () => {
      const app = await run({
        global: untyped({ ...base }),
        routes: [{ path: '/', handler: () => fail() }],
        collectErrors: true
      })
      expect(header(await app.get(), 'RateLimit-Remaining')).toBe('8')
    })

    it('a failing handler counts, as any other (NST-08)', async () => {
      const app = await run({
        global: untyped({ ...base, limit: 2 }),
        routes: [{ path: '/', handler: () => fail() }],
        collectErrors: true
      })
      expect(await app.statuses([{}, {}, {}])).toEqual([500, 500, 429])
    })
  })
}

function fail(): never {
  throw new Error('expected by a test')
}

function reject(): Promise<never> {
  return Promise.reject(new Error('expected by a test, async'))
}
