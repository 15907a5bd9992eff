import { describe, expect, it } from 'vitest'
import { keyOf } from '../../../../src/http/key.js'
import type { Who } from '../../../../src/http/known.js'
import type { Ask } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import {
  type CommonRequest,
  type Framework,
  manualClock,
  type Options,
  peerField,
  type Step,
  servers
} from '../harness.js'

const peer = '203.0.113.7'

/** Stands in for authentication: the user is who `X-User` says, as JSON. */
const authenticate: Step = ({ request }) => {
  const said = request.headers['x-user']
  if (typeof said === 'string') request.user = JSON.parse(said)
}

const from = (address: string, headers: Record<string, string> = {}): Ask => ({
  headers: { [peerField]: address, ...headers }
})
const asUser = (user: unknown, address = peer) => from(address, { 'X-User': JSON.stringify(user) })
const withKey = (value: string, address = peer) => from(address, { 'X-Api-Key': value })
const accountOf = ({ headers }: CommonRequest) => String(headers['x-api-key'])

/** A key, a request, what an operator knows of its client, and what is known of another. */
type Case = readonly [Options['key'], Ask, readonly Who[], Who]

const cases: Readonly<Record<string, Case>> = {
  'an address': [
    'ip',
    from(peer),
    [{ ip: peer }, peer, [peer], { ip: `::ffff:${peer}` }],
    { ip: '203.0.113.8' }
  ],
  'an address of IPv6': [
    'ip',
    from('2001:db8::1'),
    [{ ip: '2001:db8::1' }, '2001:DB8::2', '2001:db8::/56'],
    { ip: '2001:db8:1::1' }
  ],
  'a user': [
    'user',
    asUser({ id: 'ada' }),
    ['ada', { user: 'ada' }, { user: { id: 'ada' } }, { user: { sub: 'ada' } }, { user: 'ada', ip: peer }],
    { ip: peer }
  ],
  'a user with a number': ['user', asUser(7), [7, '7', { user: 7 }, { user: '7' }], { user: 8 }],
  'a user called as the key of an address': [
    'user',
    asUser(`ip:${peer}`),
    [{ user: `ip:${peer}` }, `text:ip:${peer}`],
    { ip: peer }
  ],
  'a user with a name that cannot be printed': [
    'user',
    asUser('a\0b\n'),
    [{ user: 'a\0b\n' }, 'a\0b\n', 'text:a%0000b%000a'],
    { user: 'ab' }
  ],
  'nobody, under a limit by user': ['user', from(peer), [{ ip: peer }, `ip:${peer}`], { user: `ip:${peer}` }],
  'a header': ['header:x-api-key', withKey('k-1'), ['k-1', { header: 'k-1' }], { ip: peer }],
  'a header with the key of an address': [
    'header:x-api-key',
    withKey(`ip:${peer}`),
    [{ header: `ip:${peer}` }],
    { ip: peer }
  ],
  'a long header': [
    'header:x-api-key',
    withKey('k'.repeat(300)),
    ['k'.repeat(300), { header: 'k'.repeat(300) }],
    { header: 'k'.repeat(301) }
  ],
  'no header': ['header:x-api-key', from(peer), [{ ip: peer }], { ip: '203.0.113.8' }],
  'a list': [
    ['header:x-api-key', 'ip'],
    withKey('k-1'),
    [['k-1', peer], [{ header: 'k-1' }, { ip: peer }], { header: 'k-1', ip: peer }, `3:k-111:${peer}`],
    ['k-1', '203.0.113.8']
  ],
  'a list without its header': [
    ['header:x-api-key', 'ip'],
    from(peer),
    [{ ip: peer }, [{ ip: peer }, peer]],
    ['k-1', peer]
  ],
  'a key of one’s own': [accountOf, withKey('account:7'), ['account:7'], 'account:8'],
  'a long key of one’s own': [accountOf, withKey('k'.repeat(300)), ['k'.repeat(300)], 'k'.repeat(299)],
  'a list with a key of one’s own': [
    [accountOf, 'user'],
    from(peer, { 'X-Api-Key': 'acme', 'X-User': '"ada"' }),
    [
      ['acme', { user: 'ada' }],
      ['acme', 'ada']
    ],
    ['acme', { ip: peer }]
  ]
}

/** Whoever can be limited can be looked up, reset, blocked and refunded. */
export function byHand(framework: Framework): void {
  const run = servers(framework)
  const start = async (options: Partial<Options>, more: { routes?: never } = {}) => {
    const clock = manualClock()
    const one = { limit: 2, window: '1h', now: clock.read, ...options } as Options
    const app = await run({ before: [authenticate], instances: { one }, globalInstances: ['one'], ...more })
    return { clock, limiter: app.limiters.one!, statuses: (asks: readonly Ask[]) => app.statuses([...asks]) }
  }

  describe.each(Object.entries(cases))('%s', (_what, [key, ask, known, other]) => {
    it.each(known.map((who) => [who] as const))('is known by %j', async (who) => {
      const { limiter, statuses } = await start({ key })
      expect(await limiter.reset(who)).toBe(false)
      expect(await statuses([ask, ask, ask])).toEqual([200, 200, 429])
      expect(await limiter.peek(who)).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
      expect(await limiter.peek(other)).toMatchObject({ allowed: true, remaining: 2 })
      expect([await limiter.reset(other), await limiter.refund(other)]).toEqual([false, false])
      expect(await limiter.refund(who)).toBe(true)
      expect(await statuses([ask, ask])).toEqual([200, 429])
      expect([await limiter.reset(who), await limiter.reset(who)]).toEqual([true, false])
      expect(await limiter.refund(who)).toBe(false)
      expect(await statuses([ask])).toEqual([200])
      await limiter.block(who, '10m')
      expect(await statuses([ask])).toEqual([429])
      expect(await limiter.reset(who)).toBe(true)
      expect(await limiter.consume(who, 2)).toMatchObject({ allowed: true, remaining: 0 })
      expect(await statuses([ask])).toEqual([429])
      if (typeof key !== 'function') expect(await limiter.keyOf(who)).toBe(keyOf(key!, who))
    })
  })

  describe('a request', () => {
    const keys: readonly Options['key'][] = [
      'ip',
      'user',
      'header:x-api-key',
      ['user', 'ip'],
      accountOf,
      async (r) => accountOf(r)
    ]
    it.each(keys.map((key) => [key] as const))('tells its key, %s, which can be printed', async (key) => {
      const requests: CommonRequest[] = []
      const { limiter, statuses } = await start(
        { key },
        {
          routes: [
            { path: '/', handler: ({ request }: { request: CommonRequest }) => void requests.push(request) }
          ] as never
        }
      )
      expect(await statuses([withKey('k-1'), withKey('k-1')])).toEqual([200, 200])
      const [request] = requests
      expect(await limiter.keyOf(request as never)).toBe(request!.rateLimit!.key)
      expect(request!.rateLimit!.key).toMatch(/^[\x20-\x7e]+$/)
      expect(await limiter.peek(request as never)).toMatchObject({ remaining: 0 })
      expect(await limiter.reset(request as never)).toBe(true)
      expect(await statuses([withKey('k-1')])).toEqual([200])
      await limiter.block(request as never, '1h')
      expect(await statuses([withKey('k-1')])).toEqual([429])
    })
  })

  describe('limits and windows that are computed', () => {
    const ofPlan = ({ headers }: CommonRequest) => (headers['x-plan'] === 'paid' ? 3 : 1)
    const windowOfPlan = ({ headers }: CommonRequest) => (headers['x-plan'] === 'paid' ? '1m' : '1h')
    const computed: Readonly<Record<string, Partial<Options>>> = {
      'a limit': { limit: ofPlan },
      'an async limit': { limit: async (request) => ofPlan(request) },
      'a window': { limit: 3, window: windowOfPlan },
      'both, in several limits': {
        limits: [
          { limit: ofPlan, window: windowOfPlan },
          { limit: 3, window: '1d' }
        ]
      } as never
    }
    const paid = from(peer, { 'X-User': '"ada"', 'X-Plan': 'paid' })

    it.each(Object.entries(computed))('%s: everything is done by what is known', async (_name, own) => {
      const { limits } = own as { limits?: unknown }
      const { limiter, statuses } = await start(
        limits === undefined
          ? { key: 'user', ...own }
          : ({ key: 'user', limit: undefined, window: undefined, limits } as never)
      )
      expect(await statuses([paid, paid, paid, paid])).toEqual([200, 200, 200, 429])
      expect(await limiter.peek({ user: 'ada' })).toMatchObject({ limit: 3, remaining: 0 })
      expect(await limiter.refund({ user: 'ada' })).toBe(true)
      expect(await statuses([paid, paid])).toEqual([200, 429])
      expect(await limiter.reset({ user: 'ben' })).toBe(false)
      expect(await limiter.reset({ user: 'ada' })).toBe(true)
      expect(await limiter.consume({ user: 'ada' }, 3)).toMatchObject({ allowed: true, remaining: 0 })
      expect(await statuses([paid])).toEqual([429])
      expect(await limiter.reset({ user: 'ada' })).toBe(true)
      await limiter.block({ user: 'ada' }, '1h')
      expect(await statuses([paid])).toEqual([429])
      expect(await limiter.reset({ user: 'ada' })).toBe(true)
      expect(await statuses([paid, paid, paid, paid])).toEqual([200, 200, 200, 429])
      await limiter.block({ user: 'ben' }, '1h')
      await limiter.clear()
      expect(await statuses([paid, paid, paid, paid])).toEqual([200, 200, 200, 429])
      expect(await limiter.reset({ user: 'ben' })).toBe(false)
    })

    it('whoever this process knows nothing of needs a request', async () => {
      const { limiter } = await start({ limit: ofPlan, key: 'user' })
      const failure = async (act: () => unknown) => {
        try {
          await act()
        } catch (error) {
          return (error as { code?: string }).code
        }
      }
      expect(await failure(() => limiter.peek({ user: 'ada' }))).toBe('HEADGATE_MISUSE')
      expect(await failure(() => limiter.refund({ user: 'ada' }))).toBe('HEADGATE_MISUSE')
      expect(await limiter.reset({ user: 'ada' })).toBe(false)
    })
  })

  describeBeyondHost(framework, 'what does not tell the key', () => {
    const wrong: readonly (readonly [Options['key'], unknown, string])[] = [
      ['ip', { user: 'ada' }, '{ ip:'],
      ['ip', { ip: 'localhost' }, 'no address'],
      ['user', { header: 'k' }, '{ user:'],
      ['user', { usr: 'ada' }, 'did you mean `user`'],
      ['user', { user: { name: 'ada' } }, '`id` or `sub`'],
      ['user', '', 'non-empty'],
      ['user', undefined, 'non-empty'],
      [['user', 'ip'], ['ada'], '1 parts were given of a key of 2'],
      [['header:x-a', 'header:x-b'], { header: 'a' }, 'a list'],
      [accountOf, { user: 'ada' }, 'The key is a function']
    ]
    it.each(wrong)('%s, %j: is an error that says what to give', async (key, who, message) => {
      const { limiter } = await start({ key })
      await expect((async () => limiter.reset(who as Who))()).rejects.toThrow(message)
    })
  })
}
