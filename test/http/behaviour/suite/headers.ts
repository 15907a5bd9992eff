import { parseDictionary, parseItem, parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../../../src/core/policy-options.js'
import { type HeaderStyleName, headerStyleNames } from '../../../../src/http/headers/index.js'
import { type Answer, header, lines, quotaFields } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import { type Framework, type Handler, manualClock, type Options, servers, start } from '../harness.js'

const epoch = start / 1000

/** What a style says of 1 unit left or none, of 1 per minute, at the start of the minute. */
const first: Record<HeaderStyleName, Record<string, string>> = {
  'draft-03': { 'RateLimit-Limit': '1, 1;w=60', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '60' },
  'draft-04': draft06(),
  'draft-05': draft06(),
  'draft-06': draft06(),
  'draft-07': { RateLimit: 'limit=1, remaining=0, reset=60', 'RateLimit-Policy': '1;w=60' },
  'draft-08': draft11(),
  'draft-09': draft11(),
  'draft-10': draft11(),
  'draft-11': draft11(),
  'x-ratelimit-github': {
    'X-RateLimit-Limit': '1',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Used': '1',
    'X-RateLimit-Reset': String(epoch + 60),
    'X-RateLimit-Resource': 'default'
  },
  'x-ratelimit-epoch': {
    'X-RateLimit-Limit': '1',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String(epoch + 60)
  },
  'x-ratelimit-delta': { 'X-RateLimit-Limit': '1', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '60' },
  'x-rate-limit-twitter': {
    'X-Rate-Limit-Limit': '1',
    'X-Rate-Limit-Remaining': '0',
    'X-Rate-Limit-Reset': String(epoch + 60)
  },
  none: {}
}

function draft06() {
  return {
    'RateLimit-Policy': '1;w=60',
    'RateLimit-Limit': '1',
    'RateLimit-Remaining': '0',
    'RateLimit-Reset': '60'
  }
}

function draft11() {
  return { RateLimit: '"default";r=0;t=60', 'RateLimit-Policy': '"default";q=1;w=60' }
}

/** The fields of quotas and waits, each of which must be one line. */
function fields(answer: Answer): Record<string, string> {
  const found = quotaFields(answer).map((name) => [name.toLowerCase(), header(answer, name)!])
  return Object.fromEntries(found)
}

function lower(expected: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(expected).map(([name, value]) => [name.toLowerCase(), value]))
}

const strategies: [string, Partial<WindowOptions>][] = [
  ['fixed-window', { strategy: 'fixed-window' }],
  ['fixed-window first-request', { strategy: 'fixed-window', align: 'first-request' }],
  ['sliding-window', { strategy: 'sliding-window' }],
  ['sliding-log', { strategy: 'sliding-log' }],
  ['token-bucket', { strategy: 'token-bucket' }],
  ['gcra', { strategy: 'gcra' }],
  ['leaky-bucket', { strategy: 'leaky-bucket', burst: 3, delayAfter: 3 }]
]

/** What responses say about quotas and waits. */
export function headers(framework: Framework): void {
  const run = servers(framework)

  describe('the default', () => {
    it('HDR-01: Retry-After is whole seconds', async () => {
      const app = await run({ global: { limit: 1, window: '1m', now: () => start } })
      await app.get()
      const denied = await app.get()
      expect(denied.status).toBe(429)
      expect(header(denied, 'Retry-After')).toBe('60')
    })

    it('HDR-02: it is the wait that is left, and reset, body and handlers say the same', async () => {
      const clock = manualClock()
      const seen: unknown[] = []
      const app = await run({
        global: {
          limit: 1,
          window: '1m',
          now: clock.read,
          message: (_request, rateLimit) => {
            seen.push(rateLimit.retryAfterMs)
            return 'wait'
          }
        }
      })
      const plain = await run({ global: { limit: 1, window: '1m', now: clock.read } })
      await app.get()
      await plain.get()
      clock.pass(20_000)
      const denied = await plain.get('/', { Accept: 'text/plain' })
      expect(fields(denied)).toMatchObject({ 'retry-after': '40', 'ratelimit-reset': '40' })
      expect(denied.body).toMatch(/\b40 s\b/)
      expect(JSON.parse((await plain.get('/', { Accept: 'application/json' })).body)).toMatchObject({
        retryAfter: 40
      })
      expect((await app.get('/', { Accept: 'text/plain' })).body).toBe('wait')
      expect(seen).toEqual([40_000])
    })

    it('HDR-03: waits round up, and who waits them out is admitted', async () => {
      const clock = manualClock()
      const app = await run({ global: { limit: 1, window: '10s', now: clock.read } })
      expect((await app.get()).status).toBe(200)
      clock.pass(400)
      expect(header(await app.get(), 'Retry-After')).toBe('10')
      clock.pass(10_000)
      expect((await app.get()).status).toBe(200)
    })

    it('HDR-06: remaining never goes below 0', async () => {
      const app = await run({ global: { limit: 2, window: '1m', now: () => start } })
      const remaining: unknown[] = []
      for (let i = 0; i < 12; i++) remaining.push(header(await app.get(), 'RateLimit-Remaining'))
      expect(remaining).toEqual(['1', ...Array(11).fill('0')])
    })

    it('HDR-07: computed limits appear as numbers, and the function is asked once a request', async () => {
      let asked = 0
      const app = await run({
        global: {
          window: '1m',
          now: () => start,
          key: 'header:x-user',
          limit: async (request) => {
            asked++
            return request.headers['x-user'] === 'a' ? 5 : 2
          }
        }
      })
      expect(fields(await app.get('/', { 'X-User': 'a' }))).toMatchObject({
        'ratelimit-limit': '5',
        'ratelimit-remaining': '4',
        'ratelimit-policy': '5;w=60'
      })
      expect(fields(await app.get('/', { 'X-User': 'b' }))).toMatchObject({
        'ratelimit-limit': '2',
        'ratelimit-remaining': '1',
        'ratelimit-policy': '2;w=60'
      })
      expect(asked).toBe(2)
    })

    it('HDR-10: the reset instant is stable inside a fixed window', async () => {
      const clock = manualClock()
      const app = await run({
        global: { limit: 5, window: '1m', now: clock.read, headers: ['draft-06', 'x-ratelimit-epoch'] }
      })
      const found: unknown[] = []
      for (let i = 0; i < 3; i++) {
        const answer = await app.get()
        found.push([header(answer, 'X-RateLimit-Reset'), header(answer, 'RateLimit-Reset')])
        clock.pass(10_000)
      }
      const instant = String(epoch + 60)
      expect(found).toEqual([
        [instant, '60'],
        [instant, '50'],
        [instant, '40']
      ])
    })

    it('Retry-After may be a date, whose second is rounded up', async () => {
      const clock = manualClock(start + 400)
      const app = await run({
        global: { limit: 1, window: '10s', now: clock.read, retryAfterFormat: 'http-date' }
      })
      await app.get()
      expect(header(await app.get(), 'Retry-After')).toBe(new Date(start + 10_000).toUTCString())
      clock.now = start + 10_000
      expect((await app.get()).status).toBe(200)
    })

    it('§7: other responses than 200 carry the fields too, those of handlers that fail among them', async () => {
      const app = await run({
        global: { limit: 9, window: '1m', now: () => start },
        routes: [
          { path: '/missing', handler: ({ send }) => send(404) },
          { path: '/moved', handler: ({ send }) => send(302) },
          { path: '/none', handler: ({ send }) => send(204) }
        ]
      })
      const found: unknown[] = []
      for (const path of ['/missing', '/moved', '/none', '/unknown']) {
        const answer = await app.get(path)
        found.push([answer.status, header(answer, 'RateLimit-Remaining')])
      }
      expect(found).toEqual([
        [404, '8'],
        [302, '7'],
        [204, '6'],
        [404, '5']
      ])
    })
  })

  describeBeyondHost(framework, 'styles', () => {
    it.each(headerStyleNames.map((style) => [style]))(
      'HDR-13: %s on an allowed and a denied response',
      async (style) => {
        const app = await run({ global: { limit: 1, window: '1m', now: () => start, headers: style } })
        expect(fields(await app.get())).toEqual(lower(first[style]))
        expect(fields(await app.get())).toEqual(lower({ ...first[style], 'Retry-After': '60' }))
      }
    )

    it('H13: legacy beside any', async () => {
      for (const style of ['draft-03', 'draft-06', 'draft-07', 'draft-11'] as const)
        for (const legacy of ['x-ratelimit-github', 'x-ratelimit-delta', 'x-rate-limit-twitter'] as const) {
          const app = await run({
            global: { limit: 1, window: '1m', now: () => start, headers: [style, legacy] }
          })
          expect(fields(await app.get())).toEqual(lower({ ...first[style], ...first[legacy] }))
        }
    })

    it.each([
      [['draft-06', 'draft-07']],
      [['draft-03', 'draft-11']],
      [['draft-06', 'draft-06']],
      [['x-ratelimit-delta', 'x-ratelimit-epoch']],
      [['draft-06', 'none']],
      [[]],
      ['draft-6'],
      ['draft-12'],
      [true]
    ])('H13: %j is refused, with what to write', async (styles) => {
      const options = { limit: 1, window: '1m', headers: styles } as unknown as Options
      await expect(framework.build({ global: options })).rejects.toMatchObject({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining('`headers`')
      })
    })

    it('H4, H5: names are quoted and escaped, and every field parses', async () => {
      const name = 'a "b" \\c;q=9, "x";r=9'
      const app = await run({
        global: { name, limit: 5, window: '1m', now: () => start, headers: 'draft-11' }
      })
      const answer = await app.get()
      expect(parseList(header(answer, 'RateLimit')!)).toEqual([
        [
          name,
          new Map([
            ['r', 4],
            ['t', 60]
          ])
        ]
      ])
      expect(parseList(header(answer, 'RateLimit-Policy')!)).toEqual([
        [
          name,
          new Map([
            ['q', 5],
            ['w', 60]
          ])
        ]
      ])
    })

    it.each(['a\r\nSet-Cookie: x=1', 'a\nb', 'a\0b', 'é', '🚦', '\t', '', 'n'.repeat(1025)])(
      'H4: a policy name %j that no header can carry is refused',
      async (name) => {
        await expect(framework.build({ global: { name, limit: 1, window: '1m' } })).rejects.toMatchObject({
          code: 'HEADGATE_BAD_OPTION',
          message: expect.stringContaining('`name`')
        })
      }
    )

    it.each(['__proto__', 'constructor', 'toString'])('a policy may be named %s', async (name) => {
      const app = await run({
        global: { name, limit: 1, window: '1m', now: () => start, headers: 'draft-11' }
      })
      expect(fields(await app.get())['ratelimit-policy']).toBe(`"${name}";q=1;w=60`)
      expect((await app.get()).status).toBe(429)
    })

    it('-07 parses as a dictionary, -06 as items and a list', async () => {
      const seven = await run({ global: { limit: 3, window: '1m', now: () => start, headers: 'draft-07' } })
      expect(
        [...parseDictionary(header(await seven.get(), 'RateLimit')!)].map(([name, [value]]) => [name, value])
      ).toEqual([
        ['limit', 3],
        ['remaining', 2],
        ['reset', 60]
      ])
      const six = await run({ global: { limit: 3, window: '1m', now: () => start } })
      const answer = await six.get()
      for (const name of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'])
        expect(parseItem(header(answer, name)!)[0]).toBeTypeOf('number')
      expect(parseList(header(answer, 'RateLimit-Policy')!)).toEqual([[3, new Map([['w', 60]])]])
    })

    it('H11: -11 tells of all tiers in configuration order, -06 of the one with least remaining', async () => {
      const limits = [
        { limit: 10, window: '1s' },
        { limit: 1000, window: '1h', name: 'hour' }
      ]
      const eleven = await run({ global: { limits, now: () => start, headers: 'draft-11' } })
      expect(fields(await eleven.get())).toEqual({
        ratelimit: '"10-per-1s";r=9;t=1, "hour";r=999;t=3600',
        'ratelimit-policy': '"10-per-1s";q=10;w=1, "hour";q=1000;w=3600'
      })
      const six = await run({ global: { limits, now: () => start } })
      expect(fields(await six.get())).toEqual({
        'ratelimit-limit': '10',
        'ratelimit-remaining': '9',
        'ratelimit-reset': '1',
        'ratelimit-policy': '10;w=1, 1000;w=3600'
      })
    })

    it('with a burst the rate is never overstated', async () => {
      const app = await run({
        global: {
          limit: 10,
          burst: 30,
          window: '1m',
          strategy: 'token-bucket',
          now: () => start,
          headers: 'draft-11'
        }
      })
      const [[, policy]] = parseList(header(await app.get(), 'RateLimit-Policy')!) as [
        [unknown, Map<string, number>]
      ]
      expect(policy.get('q')).toBe(30)
      expect(policy.get('q')! / policy.get('w')!).toBeLessThanOrEqual(10 / 60)
    })
  })

  describe('two limiters on one response (H14)', () => {
    const wide = (styles: Options['headers'], name = 'wide'): Options => ({
      name,
      limit: 100,
      window: '1m',
      now: () => start,
      headers: styles
    })
    const tight = (styles: Options['headers'], name = 'tight'): Options => ({
      name,
      limit: 5,
      window: '10s',
      now: () => start,
      headers: styles
    })

    it.each(['none', 'draft-11'] as const)(
      'leaves out those of one without headers, before %s',
      async (own) => {
        const app = await run({
          global: tight(own === 'none' ? 'draft-11' : 'none'),
          routes: [{ path: '/', also: [wide(own)] }]
        })
        const policy = own === 'none' ? '"tight";q=5;w=10' : '"wide";q=100;w=60'
        expect(header(await app.get(), 'RateLimit-Policy')).toBe(policy)
      }
    )

    for (const order of ['wide first', 'tight first'] as const) {
      const both = (styles: Options['headers']) => {
        const pair = [wide(styles), tight(styles)]
        return order === 'wide first' ? pair : pair.reverse()
      }

      it.each(['draft-04', 'draft-05', 'draft-06'] as const)(
        `%s keeps the tighter, ${order}`,
        async (style) => {
          const app = await run({ global: both(style) })
          expect(fields(await app.get())).toMatchObject({
            'ratelimit-limit': '5',
            'ratelimit-remaining': '4',
            'ratelimit-reset': '10'
          })
          await app.statuses([{}, {}, {}, {}])
          const denied = await app.get()
          expect(denied.status).toBe(429)
          expect(fields(denied)).toMatchObject({
            'ratelimit-limit': '5',
            'ratelimit-remaining': '0',
            'ratelimit-reset': '10',
            'retry-after': '10'
          })
          expect(header(denied, 'RateLimit-Policy')).toContain('5;w=10')
        }
      )

      it(`draft-07 keeps the tighter, ${order}`, async () => {
        const app = await run({ global: both('draft-07') })
        expect(header(await app.get(), 'RateLimit')).toBe('limit=5, remaining=4, reset=10')
        await app.statuses([{}, {}, {}, {}])
        expect(fields(await app.get())).toMatchObject({
          ratelimit: 'limit=5, remaining=0, reset=10',
          'retry-after': '10'
        })
      })

      it.each(['draft-08', 'draft-11'] as const)(`%s has both, ${order}`, async (style) => {
        const app = await run({ global: both(style) })
        const answer = await app.get()
        const parts = ['"wide";r=99;t=60', '"tight";r=4;t=10']
        const policies = ['"wide";q=100;w=60', '"tight";q=5;w=10']
        const inOrder = (list: string[]) => (order === 'wide first' ? list : [...list].reverse()).join(', ')
        expect(fields(answer)).toEqual({ ratelimit: inOrder(parts), 'ratelimit-policy': inOrder(policies) })
      })

      it.each(['x-ratelimit-delta', 'x-rate-limit-twitter', 'x-ratelimit-github'] as const)(
        `%s keeps the tighter, ${order}`,
        async (style) => {
          const app = await run({ global: both(style) })
          const answer = fields(await app.get())
          const prefix = style === 'x-rate-limit-twitter' ? 'x-rate-limit' : 'x-ratelimit'
          expect(answer).toMatchObject({ [`${prefix}-limit`]: '5', [`${prefix}-remaining`]: '4' })
          expect(answer[`${prefix}-reset`]).toBe(style === 'x-ratelimit-delta' ? '10' : String(epoch + 10))
        }
      )
    }

    it('draft-06: of equal quotas the longest window is kept (H9)', async () => {
      const make = (window: string): Options => ({ limit: 10, window, now: () => start })
      for (const windows of [
        ['1m', '10s'],
        ['10s', '1m']
      ]) {
        const app = await run({ global: windows.map(make) })
        expect(header(await app.get(), 'RateLimit-Policy')).toBe('10;w=60')
      }
    })

    it('a route’s limiter beside the global one is told of as well', async () => {
      const app = await run({
        global: wide('draft-11'),
        routes: [{ path: '/', also: [tight('draft-11')] }, { path: '/other' }]
      })
      expect(header(await app.get(), 'RateLimit')).toBe('"wide";r=99;t=60, "tight";r=4;t=10')
      expect(header(await app.get('/other'), 'RateLimit')).toBe('"wide";r=98;t=60')
    })

    it('charging the earlier one keeps what the later said', async () => {
      const app = await run({
        global: [wide('draft-11'), tight('draft-11')],
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.previous!.charge(10) }]
      })
      expect(fields(await app.get())).toEqual({
        ratelimit: '"wide";r=89;t=60, "tight";r=4;t=10',
        'ratelimit-policy': '"wide";q=100;w=60, "tight";q=5;w=10'
      })
    })

    it('charging the later one keeps what the earlier said', async () => {
      const app = await run({
        global: [wide('draft-11'), tight('draft-11')],
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.charge(2) }]
      })
      expect(fields(await app.get())).toEqual({
        ratelimit: '"wide";r=99;t=60, "tight";r=2;t=10',
        'ratelimit-policy': '"wide";q=100;w=60, "tight";q=5;w=10'
      })
    })

    it('of two drafts RateLimit-Policy is never a mixture (H13)', async () => {
      for (const styles of [
        ['draft-06', 'draft-11'],
        ['draft-11', 'draft-06'],
        ['draft-07', 'draft-11'],
        ['draft-11', 'draft-07']
      ] as const) {
        const app = await run({ global: [wide(styles[0]), tight(styles[1])] })
        const policies = parseList(header(await app.get(), 'RateLimit-Policy')!)
        const types = new Set(policies.map(([value]) => typeof value))
        expect([styles, types.size]).toEqual([styles, 1])
      }
    })

    it.each([
      [
        'draft-06',
        'draft-11',
        {
          'ratelimit-policy': '100;w=60, 5;w=10',
          'ratelimit-limit': '5',
          'ratelimit-remaining': '4',
          'ratelimit-reset': '10'
        }
      ],
      [
        'draft-11',
        'draft-06',
        {
          ratelimit: '"wide";r=99;t=60, "tight";r=4;t=10',
          'ratelimit-policy': '"wide";q=100;w=60, "tight";q=5;w=10'
        }
      ],
      [
        'draft-07',
        'draft-08',
        { ratelimit: 'limit=5, remaining=4, reset=10', 'ratelimit-policy': '100;w=60, 5;w=10' }
      ],
      [
        'x-ratelimit-delta',
        'x-ratelimit-epoch',
        { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '10' }
      ],
      [
        ['draft-07', 'x-ratelimit-delta'],
        ['draft-11', 'x-rate-limit-twitter'],
        {
          ratelimit: 'limit=5, remaining=4, reset=10',
          'ratelimit-policy': '100;w=60, 5;w=10',
          'x-ratelimit-limit': '5',
          'x-ratelimit-remaining': '4',
          'x-ratelimit-reset': '10',
          'x-rate-limit-limit': '5',
          'x-rate-limit-remaining': '4',
          'x-rate-limit-reset': String(epoch + 10)
        }
      ],
      [
        'draft-06',
        'x-ratelimit-delta',
        {
          'ratelimit-policy': '100;w=60, 5;w=10',
          'ratelimit-limit': '5',
          'ratelimit-remaining': '4',
          'ratelimit-reset': '10',
          'x-ratelimit-limit': '5',
          'x-ratelimit-remaining': '4',
          'x-ratelimit-reset': '10'
        }
      ]
    ] as [Options['headers'], Options['headers'], object][])(
      'of styles that clash the first is followed, admitted, denied and charged late: %j, then %j (H13)',
      async (style, later, expected) => {
        const spec = { routes: [{ path: '/', also: [tight(later)] }] }
        const app = await run({ global: wide(style), ...spec })
        expect(fields(await app.get())).toEqual(expected)
        await app.statuses([{}, {}, {}, {}])
        const denied = await app.get()
        expect(denied.status).toBe(429)
        expect(Object.keys(fields(denied)).sort()).toEqual([...Object.keys(expected), 'retry-after'].sort())
        const handler: Handler = async ({ request }) => {
          await request.rateLimit!.previous!.charge(97)
          await request.rateLimit!.charge(1)
        }
        const charged = await run({
          global: wide(style),
          routes: [{ path: '/', also: [tight(later)], handler }]
        })
        const late = fields(await charged.get())
        expect(Object.keys(late).sort()).toEqual(Object.keys(expected).sort())
        expect(Object.values(late).join()).toMatch(/\b2\b/)
      }
    )

    it('a third limiter follows what the first two have written', async () => {
      const third: Options = { ...wide(['draft-11', 'x-ratelimit-epoch'], 'third'), limit: 3 } as Options
      const app = await run({ global: [wide('draft-07'), tight('x-ratelimit-delta'), third] })
      expect(fields(await app.get())).toEqual({
        ratelimit: 'limit=3, remaining=2, reset=60',
        'ratelimit-policy': '100;w=60, 5;w=10, 3;w=60',
        'x-ratelimit-limit': '3',
        'x-ratelimit-remaining': '2',
        'x-ratelimit-reset': '60'
      })
    })

    it.each(['limit=5, remaining=4, reset=60', '5;w=60', '5, 5;w=60', ''])(
      'one that is not headgate’s, of an earlier draft: %j is no member of a List of names',
      async (value) => {
        const app = await run({
          before: [
            ({ setHeader }) => {
              setHeader('RateLimit', value)
              setHeader('RateLimit-Policy', value)
            }
          ],
          global: tight('draft-11')
        })
        expect(fields(await app.get())).toEqual({
          ratelimit: '"tight";r=4;t=10',
          'ratelimit-policy': '"tight";q=5;w=10'
        })
      }
    )

    it('one that is not headgate’s keeps its members, before a limiter of which nothing is told', async () => {
      const app = await run({
        before: [({ setHeader }) => setHeader('RateLimit', '"edge";r=7;t=3')],
        global: [wide('none'), tight('draft-11')]
      })
      expect(header(await app.get(), 'RateLimit')).toBe('"edge";r=7;t=3, "tight";r=4;t=10')
    })

    it('one that is not headgate’s: members are appended to the List that is there', async () => {
      const app = await run({
        before: [
          ({ setHeader }) => {
            setHeader('RateLimit', '"edge";r=7;t=3')
            setHeader('RateLimit-Policy', '"edge";q=9;w=3')
          }
        ],
        global: tight('draft-11')
      })
      expect(fields(await app.get())).toEqual({
        ratelimit: '"edge";r=7;t=3, "tight";r=4;t=10',
        'ratelimit-policy': '"edge";q=9;w=3, "tight";q=5;w=10'
      })
    })

    it('one that is not headgate’s, and two that are, and a late charge', async () => {
      const app = await run({
        before: [
          ({ setHeader }) => {
            setHeader('RateLimit', '"edge";r=7;t=3')
            setHeader('RateLimit-Policy', '"edge";q=9;w=3')
          }
        ],
        global: [wide('draft-11'), tight('draft-11')],
        routes: [
          {
            path: '/',
            handler: async ({ request }) => {
              await request.rateLimit!.charge(1)
              await request.rateLimit!.previous!.charge(9)
            }
          }
        ]
      })
      expect(fields(await app.get())).toEqual({
        ratelimit: '"edge";r=7;t=3, "wide";r=90;t=60, "tight";r=3;t=10',
        'ratelimit-policy': '"edge";q=9;w=3, "wide";q=100;w=60, "tight";q=5;w=10'
      })
    })

    it('two without a name are warned of once, where a style lists policies by name', async () => {
      const unnamed: Options = { limit: 9, window: '1m', now: () => start }
      const app = await run({ global: [unnamed, { ...unnamed, limit: 5 }] })
      await app.get()
      expect(await app.warnings()).toEqual([])
      const listing = await run({
        global: { ...unnamed, headers: 'draft-11' },
        routes: [
          { path: '/', also: [{ ...unnamed, limit: 5, headers: 'draft-11' }] },
          { path: '/named', also: [{ ...unnamed, name: 'own', headers: 'draft-11' }] }
        ]
      })
      await listing.get('/named')
      expect(await listing.warnings()).toEqual([])
      for (let i = 0; i < 2; i++) await listing.get()
      const warnings = await listing.warnings()
      expect(warnings.map(({ code }) => code)).toEqual(['HEADGATE_SAME_NAME'])
      expect(warnings[0]!.message).toContain("'default'")
    })

    it('one that is not headgate’s: of two Retry-After the later stays, whatever form each has', async () => {
      const date = (seconds: number) => new Date(start + seconds * 1000).toUTCString()
      for (const [earlier, expected, retryAfterFormat] of [
        ['120', '120', 'delay-seconds'],
        ['5', '60', 'delay-seconds'],
        [date(120), date(120), 'delay-seconds'],
        [date(5), '60', 'delay-seconds'],
        ['120', '120', 'http-date'],
        ['5', date(60), 'http-date'],
        [date(120), date(120), 'http-date'],
        [date(5), date(60), 'http-date'],
        ['soon', '60', 'delay-seconds'],
        ['-5', date(60), 'http-date']
      ] as const) {
        const app = await run({
          before: [({ setHeader }) => setHeader('Retry-After', earlier)],
          global: { limit: 1, window: '1m', now: () => start, retryAfterFormat }
        })
        await app.get()
        const denied = await app.get()
        expect(lines(denied, 'Retry-After')).toEqual([expected])
      }
    })
  })

  describeBeyondHost(framework, 'exposeHeaders', () => {
    const styles: [HeaderStyleName, string[]][] = [
      [
        'draft-06',
        ['RateLimit-Limit', 'RateLimit-Policy', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After']
      ],
      ['draft-11', ['RateLimit', 'RateLimit-Policy', 'Retry-After']],
      ['none', ['Retry-After']]
    ]
    const names = (answer: Answer) => header(answer, 'Access-Control-Expose-Headers')?.split(', ')

    it.each(styles)('%s names its fields on allowed and denied responses', async (style, expected) => {
      const app = await run({
        global: { limit: 1, window: '1m', now: () => start, headers: style, exposeHeaders: true }
      })
      expect(names(await app.get())?.sort()).toEqual(expected)
      expect(names(await app.get())?.sort()).toEqual(expected)
    })

    it.each([
      ['ETag, retry-after', ['ETag', 'retry-after', 'RateLimit', 'RateLimit-Policy']],
      ['*', ['*', 'RateLimit', 'RateLimit-Policy', 'Retry-After']],
      [' X-A ,, X-B', ['X-A', 'X-B', 'RateLimit', 'RateLimit-Policy', 'Retry-After']],
      ['ratelimit, RATELIMIT-POLICY, Retry-After', ['ratelimit', 'RATELIMIT-POLICY', 'Retry-After']]
    ])('adds to %j what is missing, and keeps what is there', async (existing, expected) => {
      const app = await run({
        before: [({ setHeader }) => setHeader('Access-Control-Expose-Headers', existing)],
        global: { limit: 9, window: '1m', now: () => start, headers: 'draft-11', exposeHeaders: true }
      })
      expect(names(await app.get())).toEqual(expected)
    })

    it('two limiters name theirs once', async () => {
      const one: Options = {
        limit: 9,
        window: '1m',
        now: () => start,
        headers: 'draft-11',
        exposeHeaders: true
      }
      const app = await run({ global: [one, { ...one, name: 'other' }] })
      expect(names(await app.get())).toEqual(['RateLimit', 'RateLimit-Policy', 'Retry-After'])
    })

    it('is off by default', async () => {
      const app = await run({ global: { limit: 1, window: '1m' } })
      expect(names(await app.get())).toBeUndefined()
    })

    it('HDR-11: a 429 keeps the headers of the CORS middleware, and what it exposes', async () => {
      const app = await run({
        cors: true,
        before: [({ setHeader }) => setHeader('X-Request-Id', '7')],
        global: { limit: 1, window: '1m', now: () => start, exposeHeaders: true }
      })
      const origin = { Origin: 'https://app.example' }
      for (const status of [200, 429]) {
        const answer = await app.get('/', origin)
        expect(answer.status).toBe(status)
        expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
        expect(header(answer, 'X-Request-Id')).toBe('7')
        expect(names(answer)).toContain('Retry-After')
      }
    })
  })

  describeBeyondHost(framework, 'partitionKey', () => {
    const secret = 'one secret of a deployment'
    const keyed = (partitionKey: string, more: Partial<Options> = {}): Options =>
      ({ limit: 9, window: '1m', now: () => start, headers: 'draft-11', partitionKey, ...more }) as Options
    const partitions = (answer: Answer) =>
      ['RateLimit', 'RateLimit-Policy'].map((name) =>
        (parseList(header(answer, name)!) as [unknown, Map<string, ArrayBuffer>][]).map(([, parameters]) =>
          Buffer.from(parameters.get('pk')!).toString('base64')
        )
      )

    it('H12: is the same in both fields and from request to request, and parses', async () => {
      const app = await run({ global: keyed(secret) })
      const [quota, policy] = partitions(await app.get())
      expect(quota).toHaveLength(1)
      expect(quota).toEqual(policy)
      expect(partitions(await app.get())).toEqual([quota, policy])
      expect(header(await app.get(), 'RateLimit')).toMatch(/^"default";r=6;t=60;pk=:[A-Za-z0-9+/]+=*:$/)
    })

    it('§9.2: differs by secret and by key, and is neither the key nor a bare hash of it', async () => {
      const one = await run({ global: keyed(secret, { key: 'header:x-user' }) })
      const two = await run({ global: keyed('another secret, just as long', { key: 'header:x-user' }) })
      const users = ['ann', 'ben', '127.0.0.1']
      const found = new Set<string>()
      const { createHash } = await import('node:crypto')
      for (const user of users)
        for (const app of [one, two]) {
          const [[pk]] = partitions(await app.get('/', { 'X-User': user })) as [[string]]
          found.add(pk)
          const bytes = Buffer.from(pk, 'base64')
          expect(bytes.toString('latin1')).not.toContain(user)
          for (const algorithm of ['sha256', 'sha1', 'md5', 'sha512']) {
            const hash = createHash(algorithm).update(user).digest()
            expect(hash.subarray(0, bytes.length).equals(bytes)).toBe(false)
          }
        }
      expect(found.size).toBe(6)
    })

    it('all tiers carry it', async () => {
      const limits = [
        { limit: 10, window: '1s' },
        { limit: 99, window: '1h' }
      ]
      const app = await run({
        global: { limits, now: () => start, headers: 'draft-11', partitionKey: secret }
      })
      const [quota, policy] = partitions(await app.get())
      expect(quota).toHaveLength(2)
      expect(new Set([...quota!, ...policy!]).size).toBe(1)
    })

    it.each([undefined, 'draft-07', 'x-ratelimit-delta', 'none'])(
      'is refused with the style %s, which does not carry it',
      async (headers) => {
        const options = { limit: 9, window: '1m', headers, partitionKey: secret } as Options
        await expect(framework.build({ global: options })).rejects.toMatchObject({
          code: 'HEADGATE_BAD_OPTION',
          message: expect.stringMatching(/^`partitionKey` is "…": .*'draft-08'/)
        })
      }
    )

    it('two limiters have their own, also where only one has any', async () => {
      const app = await run({
        global: [keyed(secret, { name: 'a' }), keyed('another secret, just as long', { name: 'b' })]
      })
      const [quota, policy] = partitions(await app.get())
      expect(quota).toEqual(policy)
      expect(new Set(quota).size).toBe(2)
      const mixed = await run({
        global: [
          keyed(secret, { name: 'a' }),
          { name: 'b', limit: 5, window: '1m', now: () => start, headers: 'draft-11' }
        ]
      })
      expect(header(await mixed.get(), 'RateLimit')).toMatch(/^"a";r=8;t=60;pk=:[^:]+:, "b";r=4;t=60$/)
    })

    it.each(['', 'short', 5, true, null, {}])(
      'a secret that is none, %j, is refused without being shown',
      async (value) => {
        const options = keyed(value as string)
        const error = await framework.build({ global: options }).then(
          () => undefined,
          (reason: Error & { code?: string }) => reason
        )
        expect(error?.code).toBe('HEADGATE_BAD_OPTION')
        expect(error?.message).toContain('`partitionKey`')
        if (value === 'short') expect(error?.message).not.toContain('short')
      }
    )
  })

  describeBeyondHost(framework, 'waits', () => {
    it.each(strategies)(
      '§7: Retry-After waited out is admitted, and the reset equals it (%s)',
      async (_name, strategy) => {
        for (const [limit, window, offset] of [
          [3, 10_000, 0],
          [3, 10_000, 3217],
          [4, 1000, 999],
          [1, 61_001, 7],
          [7, 999, 500]
        ] as const) {
          const clock = manualClock(start + offset)
          const more = strategy.burst === undefined ? {} : { burst: limit - 1, delayAfter: limit - 1 }
          const app = await run({
            global: { limit, window, now: clock.read, ...strategy, ...more } as Options
          })
          for (let round = 0; round < 4; round++) {
            let answer = await app.get()
            for (let i = 0; answer.status === 200 && i < 50; i++) {
              clock.pass((i * 37) % 130)
              answer = await app.get()
            }
            expect(answer.status).toBe(429)
            const wait = header(answer, 'Retry-After')!
            expect(wait).toMatch(/^[1-9]\d*$/)
            expect(header(answer, 'RateLimit-Reset')).toBe(wait)
            clock.pass(Number(wait) * 1000)
            expect((await app.get()).status).toBe(200)
          }
        }
      }
    )

    it('of several denied tiers the longest wait counts, and with it all admit', async () => {
      const clock = manualClock()
      const app = await run({
        global: {
          limits: [
            { limit: 2, window: '10s' },
            { limit: 2, window: '1m', strategy: 'sliding-log' }
          ],
          now: clock.read
        }
      })
      expect(await app.statuses([{}, {}])).toEqual([200, 200])
      const denied = await app.get()
      expect(header(denied, 'Retry-After')).toBe('60')
      clock.pass(59_999)
      expect((await app.get()).status).toBe(429)
      clock.pass(1)
      expect((await app.get()).status).toBe(200)
    })

    it('a wait that helps nobody is not announced', async () => {
      const app = await run({ global: { limit: 5, window: '1m', now: () => start, cost: () => 6 } })
      const denied = await app.get()
      expect(denied.status).toBe(429)
      expect(header(denied, 'Retry-After')).toBeUndefined()
      expect(denied.body).not.toMatch(/Infinity|NaN|undefined|null/)
      const json = await app.get('/', { Accept: 'application/json' })
      expect(json.body).not.toMatch(/Infinity|NaN|undefined|null/)
    })

    it('a window longer than 24.8 days is told in full', async () => {
      const app = await run({
        global: { limit: 1, window: '365d', strategy: 'sliding-log', now: () => start }
      })
      await app.get()
      expect(header(await app.get(), 'Retry-After')).toBe(String(365 * 86_400))
    })
  })

  describe('HEAD', () => {
    it('has the fields of GET and no body, allowed and denied', async () => {
      const app = await run({ global: { limit: 2, window: '1m', now: () => start, headers: 'draft-11' } })
      await app.get()
      const admitted = await app.send({ method: 'HEAD' })
      expect([admitted.status, admitted.body]).toEqual([200, ''])
      const denied = await app.get()
      const head = await app.send({ method: 'HEAD' })
      expect([denied.status, head.status, head.body]).toEqual([429, 429, ''])
      expect(fields(head)).toEqual(fields(denied))
      for (const name of ['Cache-Control', 'Content-Type'])
        expect(header(head, name)).toBe(header(denied, name))
    })
  })
}
