import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalAddress } from '../../../../src/http/address.js'
import { type Ask, header, quotaFields } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import { type AppSpec, type Framework, type Options, peerField, servers, start } from '../harness.js'

const minute = { window: '1m', now: () => start } as const
const one = { limit: 1, ...minute }
const anyMethod = (['GET', 'POST', 'OPTIONS'] as const).map((method) => ({ path: '/', method }))

const preflight = {
  method: 'OPTIONS',
  headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' }
} as const
const preflightWith = (headers: Record<string, string>, body?: string): Ask => ({
  ...preflight,
  headers: { ...preflight.headers, ...headers },
  ...(body === undefined ? {} : { body })
})

/** A client never chooses to be uncounted, nor to be somebody else. */
export function whoIsCounted(framework: Framework): void {
  const run = servers(framework)

  describe('preflights', () => {
    it('are counted apart from the requests of their client', async () => {
      const app = await run({ global: { ...one, limit: 2 }, routes: anyMethod })
      expect(await app.statuses([preflight, preflight, {}, {}, {}])).toEqual([200, 200, 200, 200, 429])
      expect(await app.statuses([preflight])).toEqual([429])
    })

    it('tell of no quota as long as they pass', async () => {
      const app = await run({ global: one, routes: anyMethod })
      expect(quotaFields(await app.send(preflight))).toEqual([])
      expect(header(await app.send(preflight), 'Retry-After')).toBe('60')
    })

    it.each([
      ['a body', preflightWith({ 'Content-Type': 'text/plain' }, 'pin=1234')],
      [
        'a body without a length',
        preflightWith({ 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }, 'pin=1234')
      ],
      ['a cookie', preflightWith({ Cookie: 'session=1' })],
      ['an empty cookie', preflightWith({ Cookie: '' })],
      ['credentials', preflightWith({ Authorization: 'Bearer x' })],
      ['no Origin', { ...preflight, headers: { 'Access-Control-Request-Method': 'POST' } }],
      ['no Access-Control-Request-Method', { ...preflight, headers: { Origin: 'https://app.example' } }],
      ['neither', { method: 'OPTIONS' }]
    ])('an OPTIONS request with %s is a request like any other', async (_name, ask) => {
      const app = await run({ global: one, routes: anyMethod })
      expect(await app.statuses([ask, {}, ask])).toEqual([200, 429, 429])
    })

    it('a request of another method that looks like one counts', async () => {
      const app = await run({ global: one })
      expect(await app.statuses([{ headers: preflight.headers }, { headers: preflight.headers }])).toEqual([
        200, 429
      ])
    })

    it.each(['user', 'header:x-api-key'] as const)('are the address’s where the key is %j', async (key) => {
      const app = await run({ global: { ...one, key }, routes: anyMethod })
      const asks = [1, 2, 3].map((n) => preflightWith({ 'X-Api-Key': `${n}` }))
      expect(await app.statuses(asks)).toEqual([200, 429, 429])
    })

    it('do not meet functions that name a key or a cost', async () => {
      const fail = (): never => {
        throw new Error('asked')
      }
      const app = await run({ global: { ...one, key: fail, cost: fail }, routes: anyMethod })
      expect(await app.statuses([preflight, preflight])).toEqual([200, 429])
    })

    it('can be left out by `skip`', async () => {
      const app = await run({
        global: { ...one, skip: ({ method }) => method === 'OPTIONS' },
        routes: anyMethod
      })
      expect(await app.statuses([preflight, preflight, preflight])).toEqual([200, 200, 200])
    })
  })

  describe('clients that nobody names', () => {
    const proxied = (headers: Record<string, string>): Ask => ({ headers })
    const lists = { ...one, limit: 2, allow: ['127.0.0.1'], deny: ['198.51.100.0/24'] }

    it('the proxy’s privileges are not theirs', async () => {
      const app = await run({ global: { ...lists, deny: [] }, trustProxy: 'loopback' })
      const field = 'X-Forwarded-For'
      const asks = ['unknown', '_hidden', '203.0.113.1:x', 'unknown'].map((text) =>
        proxied({ [field]: text })
      )
      expect(await app.statuses(asks)).toEqual([200, 200, 429, 429])
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 200])
    })

    it('what cannot be read is refused where there is a deny list', async () => {
      const app = await run({ global: lists, trustProxy: 'loopback' })
      const asks = ['unknown', '203.0.113.1:x', '198.51.100.7', '203.0.113.7'].map((text) =>
        proxied({ 'X-Forwarded-For': text })
      )
      expect(await app.statuses(asks)).toEqual([200, 403, 403, 200])
    })

    it('a damaged Forwarded field neither hides a client nor makes it the proxy', async () => {
      const app = await run({
        global: { ...lists, forwarded: 'forwarded' },
        trustProxy: 'loopback'
      })
      const damages = ['x', 'for="', 'for="a', 'for=1;for=2', 'for=127.0.0.1;', '"', '\\']
      const asks = (address: string) =>
        damages.map((damage) => proxied({ Forwarded: `${damage}, for=${address}` }))
      expect(await app.statuses(asks('198.51.100.7'))).toEqual(damages.map(() => 403))
      expect(await app.statuses(asks('203.0.113.7'))).toEqual(damages.map((_, i) => (i < 2 ? 200 : 429)))
      expect(await app.statuses([proxied({ Forwarded: 'x' })])).toEqual([403])
    })

    it('a request whose connection is gone does not pass a deny list', async () => {
      const app = await run({ global: lists })
      expect(await app.statuses([{ headers: { [peerField]: 'none' } }])).toEqual([403])
      const open = await run({ global: { ...lists, deny: [] } })
      const gone = { headers: { [peerField]: 'none' } }
      expect(await open.statuses([gone, gone, gone])).toEqual([200, 200, 429])
    })
  })

  describe('6to4', () => {
    it('all addresses of one IPv4 host are that host', async () => {
      const app = await run({ global: { ...one, deny: ['2002:c633:6407::/48'] } })
      const asks = ['2002:cb00:7107::1', '2002:cb00:7107:ff00::2', '203.0.113.7', '2002:cb00:7108::1'].map(
        (peer) => ({ headers: { [peerField]: peer } })
      )
      expect(await app.statuses(asks)).toEqual([200, 429, 429, 200])
      expect(await app.statuses([{ headers: { [peerField]: '198.51.100.7' } }])).toEqual([403])
    })
  })

  describe('addresses that 6to4 and NAT64 must not carry', () => {
    it('are not those of the private networks and of this host', async () => {
      const app = await run({
        global: { ...one, ipv6Subnet: false, allow: ['loopback', '10.0.0.0/8', '192.168.0.0/16'] }
      })
      for (const peer of ['2002:7f00:1::1', '2002:a00:1::1', '64:ff9b::a00:1', '64:ff9b::192.168.0.1']) {
        const ask = { headers: { [peerField]: peer } }
        expect(await app.statuses([ask, ask])).toEqual([200, 429])
      }
    })
  })

  if (framework.name !== 'koa') ownWord(framework)
  describeBeyondHost(framework, 'whatever fields a client sends', () => anyFields(framework))
}

/** The framework's own word on who the client is. */
function ownWord(framework: Framework): void {
  const run = servers(framework)
  const settings: [string, AppSpec['trustProxy']][] = [
    ['loopback', 'loopback'],
    ['a list', ['127.0.0.1', '10.0.0.0/8', 'fd00::/8']],
    ['everybody', true],
    ['a function of texts', (address) => address === '::ffff:127.0.0.1' || address === '10.0.0.1'],
    ['a function of hops', (_address, hop) => hop < 2],
    ['a function that takes anything', () => true],
    ['the peer of a Unix-domain socket', (address, hop) => address === undefined && hop === 0]
  ]
  const peers = ['127.0.0.1', '::ffff:127.0.0.1', '::1', '10.0.0.1', '203.0.113.5', 'fd00::1', 'fe80::1%eth0']
  const entry = fc.oneof(
    fc.constantFrom(...peers, '::ffff:10.0.0.1', '10.0.0.2', '192.0.2.1', '2001:DB8:0::7', 'unknown', '_x'),
    fc.constantFrom('192.0.2.1:80', '[2001:db8::1]:443', '64:ff9b::10.0.0.1', '010.0.0.1', '', '  ', 'x'),
    fc.ipV4(),
    fc.ipV6()
  )
  const field = fc.array(entry, { minLength: 1, maxLength: 6 }).map((entries) => entries.join(', '))

  describe('the key is the address that the framework gives, wherever it gives one', () => {
    it.each(settings)('where %s is trusted', async (name, trustProxy) => {
      const seen: [key: unknown, ip: unknown][] = []
      const app = await run({
        global: { limit: 1e9, window: '1m', ipv6Subnet: false, headers: 'none' },
        trustProxy,
        unixSocket: name.includes('Unix'),
        routes: [
          {
            path: '/',
            handler: ({ request }) =>
              void seen.push([request.rateLimit?.key, (request as { ip?: unknown }).ip])
          }
        ]
      } as AppSpec)
      const asks = fc.sample(fc.tuple(fc.constantFrom(...peers), field), 60)
      await app.statuses(
        asks.map(([peer, value]) => ({
          headers: { 'X-Forwarded-For': value, ...(name.includes('Unix') ? {} : { [peerField]: peer }) }
        }))
      )
      expect(seen).toHaveLength(asks.length)
      for (const [i, [key, ip]] of seen.entries())
        if (typeof ip === 'string' && isIP(ip) !== 0) expect(key, `${asks[i]}`).toBe(canonicalAddress(ip))
    })
  })
}

/** What one socket peer may send, and what proxies add to it. */
function anyFields(framework: Framework): void {
  const run = servers(framework)
  const clientField = 'x-test-client'
  const value = fc.oneof(
    fc.constantFrom(
      '127.0.0.1',
      '192.0.2.1',
      '203.0.113.250',
      'unknown',
      '_hidden',
      'x',
      '',
      'for=127.0.0.1'
    ),
    fc.constantFrom('for="127.0.0.1', 'for=192.0.2.1;for=127.0.0.1', 'GET', 'POST', '"', '\\', 'a=b', '::1'),
    fc.ipV4()
  )
  const names = ['Origin', 'Access-Control-Request-Method', 'Access-Control-Request-Headers', 'Cookie', 'Via']
  const more = ['Authorization', 'X-HTTP-Method-Override', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP']
  const fields = fc.dictionary(
    fc.constantFrom(...names, ...more, 'X-Forwarded-For', 'Forwarded', 'X-Client-IP', 'RateLimit-Policy'),
    value,
    { maxKeys: 8 }
  )
  const ask = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'OPTIONS'),
    headers: fields,
    body: fc.option(fc.constant('pin=1'), { nil: undefined })
  })
  const requests = fc.array(ask, { minLength: 12, maxLength: 20 })
  type Sent = { readonly headers: Readonly<Record<string, string>> }
  const direct = (client: string, { headers }: Sent) => ({ ...headers, [peerField]: client })
  const behind =
    (name: string, written: (client: string) => string) =>
    (client: string, { headers }: Sent) => ({
      ...headers,
      [peerField]: '127.0.0.1',
      [name]: [headers[name], written(client)].filter((part) => part !== undefined).join(', ')
    })

  const byFunction = ((address: string | undefined) => address === '127.0.0.1') as AppSpec['trustProxy']
  it.each<[string, AppSpec['trustProxy'], Partial<Options>, typeof direct | ReturnType<typeof behind>]>([
    ['nobody is trusted', undefined, {}, direct],
    ['proxies are trusted and it comes past them', ['127.0.0.1'], {}, direct],
    ['the same, with Forwarded', ['127.0.0.1'], { forwarded: 'forwarded' }, direct],
    ['it comes through a proxy', ['127.0.0.1'], {}, behind('X-Forwarded-For', (client) => client)],
    ['a function trusts the proxy', byFunction, {}, behind('X-Forwarded-For', (client) => client)],
    [
      'it comes through a proxy, with Forwarded',
      ['127.0.0.1'],
      { forwarded: 'forwarded' },
      behind('Forwarded', (client) => `for=${client};host="a, b"`)
    ]
  ])(
    'it passes no more than its limits, no deny list, and gets into no allow list: %s',
    async (_name, trustProxy, more, sent) => {
      const reached = new Map<string, number>()
      const app = await run({
        global: {
          limit: 3,
          ...minute,
          allow: ['127.0.0.1', '192.0.2.0/24'],
          deny: ['198.18.0.0/15'],
          ...more
        } as Options,
        ...(trustProxy === undefined ? {} : { trustProxy }),
        routes: anyMethod.map((route) => ({
          ...route,
          handler: ({ request }) => {
            const client = String(request.headers[clientField])
            reached.set(client, (reached.get(client) ?? 0) + 1)
          }
        }))
      })
      for (const [i, asks] of fc.sample(requests, 15).entries()) {
        const denied = i % 5 === 0
        const client = `${denied ? '198.18' : '100.64'}.0.${i}`
        for (const { method, headers, body } of asks) {
          const wire = { ...sent(client, { headers }), [clientField]: client, 'Content-Type': 'text/plain' }
          await app.send({
            method,
            headers: wire,
            ...(body === undefined || method === 'HEAD' ? {} : { body })
          })
        }
        const count = reached.get(client) ?? 0
        // Preflights have as much again, and no more.
        if (denied) expect(count).toBe(0)
        else expect(count).toBeLessThanOrEqual(6)
        expect(denied || count > 0).toBe(true)
      }
    }
  )
}
