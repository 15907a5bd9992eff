import { describe, expect, it } from 'vitest'
import { ipKey } from '../../../../src/http/address.js'
import type { Ask } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import {
  type Framework,
  type Handler,
  manualClock,
  type Options,
  peerField,
  servers,
  start
} from '../harness.js'

const minute = { window: '1m', now: () => start } as const

const xff = (value: string | readonly string[]): Ask => ({ headers: { 'X-Forwarded-For': value } })
const from = (peer: string): Ask => ({ headers: { [peerField]: peer } })

/** Who is charged, and by what route the client's address comes. */
export function keysAndProxies(framework: Framework): void {
  const run = servers(framework)
  const limited = (limit: number, more: Partial<Options> = {}): Options =>
    ({ limit, ...minute, ...more }) as Options

  describe('no trusted proxy', () => {
    it('KEY-01: a forwarding header of the client is ignored', async () => {
      const keys = new Set<unknown>()
      const app = await run({
        global: limited(2),
        routes: [{ path: '/', handler: ({ request }) => void keys.add(request.rateLimit?.key) }]
      })
      const asks = [1, 2, 3, 4].map((n) => xff(`203.0.113.${n}`))
      expect(await app.statuses(asks)).toEqual([200, 200, 429, 429])
      expect([...keys]).toEqual(['127.0.0.1'])
    })

    it('KEY-01: one bucket stands in the store, not four', async () => {
      const keys: unknown[] = []
      const app = await run({
        global: limited(100),
        routes: [{ path: '/', handler: ({ request }) => void keys.push(request.rateLimit?.key) }]
      })
      await app.statuses([1, 2, 3, 4].map((n) => xff(`203.0.113.${n}`)))
      expect(keys).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1'])
    })

    it.each([
      'X-Real-IP',
      'CF-Connecting-IP',
      'True-Client-IP',
      'X-Client-IP',
      'X-Cluster-Client-IP',
      'Forwarded-For',
      'X-Forwarded',
      'Fastly-Client-IP',
      'X-Envoy-External-Address'
    ])('K1: %s is never consulted, even behind a trusted proxy', async (name) => {
      const app = await run({ global: limited(1), trustProxy: 'loopback' })
      const asks = [1, 2].map((n) => ({ headers: { [name]: `203.0.113.${n}` } }))
      expect(await app.statuses(asks)).toEqual([200, 429])
    })

    it('K1: Forwarded is not read where X-Forwarded-For is configured, nor the other way round', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback' })
      const forwarded = [1, 2].map((n) => ({ headers: { Forwarded: `for=203.0.113.${n}` } }))
      expect(await app.statuses(forwarded)).toEqual([200, 429])
      const other = await run({ global: limited(1, { forwarded: 'forwarded' }), trustProxy: 'loopback' })
      expect(await other.statuses([1, 2].map((n) => xff(`203.0.113.${n}`)))).toEqual([200, 429])
    })

    it('KEY-03: at most one warning a limiter, naming the setting, and no request breaks', async () => {
      const app = await run({ global: limited(100), collectErrors: true })
      const asks = Array.from({ length: 20 }, (_, n) => xff(`203.0.113.${n}`))
      expect(await app.statuses(asks)).toEqual(asks.map(() => 200))
      const warnings = await app.warnings()
      expect(warnings).toHaveLength(1)
      expect(warnings[0]!.message).toContain(framework.trustOption)
      expect(app.errors).toEqual([])
    })

    it('KEY-03: the warning comes whenever the header first shows, not on the first request only', async () => {
      const app = await run({ global: limited(100) })
      await app.statuses([{}, {}, {}])
      expect(await app.warnings()).toEqual([])
      await app.statuses([xff('203.0.113.1'), xff('203.0.113.1')])
      expect(await app.warnings()).toHaveLength(1)
    })

    it('KEY-03: a limiter that does not count by address has nothing to warn of', async () => {
      const app = await run({ global: limited(100, { key: () => 'everybody' }) })
      await app.statuses([xff('203.0.113.1')])
      expect(await app.warnings()).toEqual([])
    })
  })

  describe('a trusted proxy', () => {
    const trusts =
      framework.trustOption === 'trustProxy' ? [['127.0.0.1'], 'loopback'] : [1, 'loopback', ['127.0.0.1']]

    it.each(trusts.map((trust) => [trust]))(
      'KEY-02: only the hop that it appended counts (%j)',
      async (trustProxy) => {
        const app = await run({ global: limited(2), trustProxy })
        const asks = [1, 2, 3].map((n) => xff(`198.51.100.${n}, 203.0.113.9`))
        expect(await app.statuses(asks)).toEqual([200, 200, 429])
        expect(await app.statuses([xff('198.51.100.1, 203.0.113.10')])).toEqual([200])
      }
    )

    it('K2: several lines of the field are read as one list, from the right', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback' })
      expect(
        await app.statuses([
          xff(['198.51.100.1', '203.0.113.9']),
          xff(['198.51.100.2', '203.0.113.9']),
          xff('198.51.100.3,203.0.113.9 , '),
          xff(['203.0.113.9', '198.51.100.4'])
        ])
      ).toEqual([200, 429, 429, 200])
    })

    it('K2: further trusted hops are passed over', async () => {
      const app = await run({ global: limited(1), trustProxy: ['127.0.0.1', '10.0.0.0/8'] })
      expect(
        await app.statuses([
          xff('198.51.100.1, 203.0.113.9, 10.0.0.1, 10.9.9.9'),
          xff('198.51.100.2, 203.0.113.9, 10.0.0.7'),
          xff('10.0.0.7')
        ])
      ).toEqual([200, 429, 200])
    })

    it.each([
      ['::ffff:127.0.0.1', 'loopback'],
      ['::1', 'loopback'],
      ['fe80::1%eth0', 'linklocal'],
      ['FD00:0::1', 'uniquelocal']
    ])('K4: a peer %s is trusted by %s, as the framework says', async (peer, trustProxy) => {
      const app = await run({ global: limited(1), trustProxy: [trustProxy] })
      const asks = ['203.0.113.1', '203.0.113.2', '203.0.113.1'].map((address) => ({
        headers: { [peerField]: peer, 'X-Forwarded-For': address }
      }))
      expect(await app.statuses(asks)).toEqual([200, 200, 429])
    })

    it('K3, K4: a trusted hop with a port or in brackets does not stop the walk', async () => {
      const app = await run({ global: limited(1), trustProxy: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'] })
      expect(
        await app.statuses(
          [
            '203.0.113.9, 10.0.0.1:443',
            '203.0.113.9, [fd00::1]:443',
            '203.0.113.9, ::ffff:10.0.0.1',
            '203.0.113.8, [FD00::2]'
          ].map(xff)
        )
      ).toEqual([200, 429, 429, 200])
    })

    it('K2: an untrusted peer cannot speak for anybody', async () => {
      const app = await run({ global: limited(1), trustProxy: ['10.0.0.0/8'] })
      expect(await app.statuses([xff('203.0.113.1'), xff('203.0.113.2')])).toEqual([200, 429])
    })

    it('K3: ports, brackets and blanks mint no keys', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback' })
      expect(
        await app.statuses(
          ['203.0.113.7', '203.0.113.7:51234', '203.0.113.7:51235', ' 203.0.113.7 ', '\t203.0.113.7:1\t'].map(
            xff
          )
        )
      ).toEqual([200, 429, 429, 429, 429])
      expect(
        await app.statuses(
          ['2001:db8:7::1', '[2001:db8:7::1]', '[2001:DB8:7::1]:443', '2001:db8:7:0::9%eth0'].map(xff)
        )
      ).toEqual([200, 429, 429, 429])
    })

    it('KEY-04: IPv4-mapped clients are the IPv4 clients that they are', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback' })
      expect(
        await app.statuses(
          ['::ffff:203.0.113.1', '::ffff:203.0.113.2', '203.0.113.1', '::ffff:cb00:7102'].map(xff)
        )
      ).toEqual([200, 200, 429, 429])
    })

    it('KEY-04: also as peers of a dual-stack socket', async () => {
      const app = await run({ global: limited(1) })
      expect(
        await app.statuses(['::ffff:203.0.113.1', '::ffff:203.0.113.2', '203.0.113.1'].map(from))
      ).toEqual([200, 200, 429])
    })

    it('KEY-07: rotating the host half of an IPv6 prefix gives nothing', async () => {
      const app = await run({ global: limited(2), trustProxy: 'loopback' })
      expect(
        await app.statuses(
          [
            '2001:db8:1:2::1',
            '2001:db8:1:2::2',
            '2001:db8:1:2::3',
            '2001:db8:1:2::ffff:1',
            '2001:db8:9999::1'
          ].map(xff)
        )
      ).toEqual([200, 200, 429, 429, 200])
    })

    it('KEY-07: the same from peers of the socket, and by ipKey in a key of one’s own', async () => {
      const peers = [
        '2001:db8:1:2::1',
        '2001:db8:1:2::2',
        '2001:db8:1:2::3',
        '2001:db8:1:2::ffff:1',
        '2001:db8:9999::1'
      ]
      const app = await run({ global: limited(2) })
      expect(await app.statuses(peers.map(from))).toEqual([200, 200, 429, 429, 200])
      const own = await run({
        global: limited(2, { key: (request) => ipKey(String(request.headers['x-address'])) })
      })
      expect(await own.statuses(peers.map((peer) => ({ headers: { 'X-Address': peer } })))).toEqual([
        200, 200, 429, 429, 200
      ])
    })

    it('K7: ipv6Subnet sets the group, false the bare address', async () => {
      const wide = await run({ global: limited(1, { ipv6Subnet: 48 }) })
      expect(
        await wide.statuses(['2001:db8:1:1::1', '2001:db8:1:ff00::1', '2001:db8:2::1'].map(from))
      ).toEqual([200, 429, 200])
      const bare = await run({ global: limited(1, { ipv6Subnet: false }) })
      expect(await bare.statuses(['2001:db8::1', '2001:db8::2', '2001:DB8:0::1'].map(from))).toEqual([
        200, 200, 429
      ])
    })

    it('K7: ::1 is not grouped with its neighbours', async () => {
      const app = await run({ global: limited(1) })
      expect(await app.statuses(['::1', '::1', '::2'].map(from))).toEqual([200, 429, 200])
    })

    it('KEY-12, K5: entries that are no address are charged to the hop that reported them', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback', collectErrors: true })
      expect(
        await app.statuses(
          [
            'unknown',
            'unknown',
            '999.1.1.1',
            '_hidden',
            '<script>',
            '203.0.113.7:99999999',
            '2130706433',
            '010.0.0.1'
          ].map(xff)
        )
      ).toEqual([200, 429, 429, 429, 429, 429, 429, 429])
      expect(await app.statuses([xff('198.51.100.7, unknown')])).toEqual([429])
      expect(app.errors).toEqual([])
    })

    it('K6: Forwarded by its own grammar, where it is configured', async () => {
      const app = await run({ global: limited(1, { forwarded: 'forwarded' }), trustProxy: 'loopback' })
      const forwarded = (value: string): Ask => ({ headers: { Forwarded: value } })
      expect(
        await app.statuses(
          [
            'for=203.0.113.9',
            'For="203.0.113.9:4711";proto=https',
            'for=198.51.100.1, FOR=203.0.113.9;by=10.0.0.1',
            'for="[2001:db8:5::1]:80"',
            'for="[2001:DB8:5::2]"'
          ].map(forwarded)
        )
      ).toEqual([200, 429, 429, 200, 429])
      // What the client left open in front of the proxy's element swallows nothing.
      expect(await app.statuses([forwarded('for="198.51.100.1, for=203.0.113.9')])).toEqual([429])
      // An element that names no one address comes to the peer, which has one bucket.
      expect(
        await app.statuses(['for=203.0.113.77;for=203.0.113.78', 'for=_hidden', 'by=10.0.0.1'].map(forwarded))
      ).toEqual([200, 429, 429])
    })
  })

  describe('trust settings that protect nobody', () => {
    it('CFG-06: trusting everybody is said once a limiter, and requests are served', async () => {
      const app = await run({ global: limited(1), trustProxy: true })
      const asks = Array.from({ length: 10 }, (_, n) => xff(`203.0.113.${n}`))
      expect(await app.statuses(asks)).toEqual(asks.map(() => 200))
      const warnings = await app.warnings()
      expect(warnings).toHaveLength(1)
      expect(warnings[0]!.message).toContain(framework.trustOption)
    })

    it('CFG-06: not where a custom key ignores the address', async () => {
      const app = await run({ global: limited(1, { key: 'header:x-api-key' }), trustProxy: true })
      const own = await run({ global: limited(100, { key: () => 'one' }), trustProxy: true })
      await own.statuses([xff('203.0.113.1'), xff('203.0.113.2')])
      expect(await own.warnings()).toEqual([])
      await app.stop()
    })

    it('K9: a text of digits, as from an environment variable, is warned of once', async () => {
      const app = await run({ global: limited(1), trustProxy: '1' })
      expect(await app.statuses([xff('203.0.113.1'), xff('203.0.113.9')])).toEqual([200, 429])
      const warnings = await app.warnings()
      expect(warnings).toHaveLength(1)
      expect(warnings[0]!.message).toContain(framework.trustOption)
    })

    it('K9: a number of hops works as the framework defines it, with one warning that names the hazard', async () => {
      const app = await run({ global: limited(1), trustProxy: 1 })
      const expected = framework.ignoresHopCounts ? [200, 429] : [200, 200]
      expect(await app.statuses([xff('203.0.113.1'), xff('203.0.113.9')])).toEqual(expected)
      const warnings = await app.warnings()
      expect(warnings).toHaveLength(1)
      expect(warnings[0]!.message).toContain(framework.trustOption)
    })
  })

  describe('no address', () => {
    it('KEY-13, K8: clients of a Unix socket share one bucket', async () => {
      const keys: unknown[] = []
      const app = await run({
        global: limited(1, {
          headers: ['draft-11', 'x-ratelimit-github'],
          partitionKey: 'a secret of some length'
        }),
        unixSocket: true,
        collectErrors: true,
        routes: [{ path: '/', handler: ({ request }) => void keys.push(request.rateLimit?.key) }]
      })
      expect(await app.statuses([{}, {}])).toEqual([200, 429])
      expect(keys).toEqual(['unix'])
      expect(app.errors).toEqual([])
    })

    it('KEY-13: that they share one is warned of once', async () => {
      const app = await run({ global: limited(1), unixSocket: true })
      await app.statuses([{}, {}, {}])
      expect(await app.warnings()).toHaveLength(1)
    })

    it('K8: forwarded addresses are honoured on a Unix socket that is trusted', async () => {
      const app = await run({ global: limited(1), unixSocket: true, trustProxy: true })
      expect(await app.statuses([xff('203.0.113.1'), xff('203.0.113.2'), xff('203.0.113.1')])).toEqual([
        200, 200, 429
      ])
    })

    it('K8: and not on one that only names addresses', async () => {
      const app = await run({
        global: limited(1),
        unixSocket: true,
        trustProxy: 'loopback',
        collectErrors: true
      })
      expect(await app.statuses([xff('203.0.113.1'), xff('203.0.113.2')])).toEqual([200, 429])
      expect(app.errors).toEqual([])
    })

    it('KEY-13, K8: a connection that is gone already is `unknown`, shared and no exception', async () => {
      const app = await run({ global: limited(1), collectErrors: true })
      expect(await app.statuses([from('none'), from('none')])).toEqual([200, 429])
      expect(app.errors).toEqual([])
    })

    it('KEY-13, K8: nor does it vouch for a forwarded address', async () => {
      const app = await run({ global: limited(1), trustProxy: 'loopback', collectErrors: true })
      const asks = [1, 2].map((n) => ({
        headers: { [peerField]: 'none', 'X-Forwarded-For': `203.0.113.${n}` }
      }))
      expect(await app.statuses(asks)).toEqual([200, 429])
      expect(app.errors).toEqual([])
    })
  })

  describeBeyondHost(framework, 'keys of headers and users', () => {
    const byKey = (value: string | readonly string[]): Ask => ({ headers: { 'X-Api-Key': value } })

    it('KEY-17: property-like keys behave as any other', async () => {
      const app = await run({ global: limited(1, { key: 'header:x-api-key' }), collectErrors: true })
      for (const key of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype', 'valueOf'])
        expect([key, await app.statuses([byKey(key), byKey(key)])]).toEqual([key, [200, 429]])
      expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      expect(app.errors).toEqual([])
    })

    it.each(['constructor', '__proto__', 'valueof', 'x-missing'])(
      'a header named %s that no request has is as any that is missing',
      async (name) => {
        const app = await run({ global: limited(1, { key: `header:${name}` }), collectErrors: true })
        expect(await app.statuses([{}, {}, from('203.0.113.5')])).toEqual([200, 429, 200])
        expect(app.errors).toEqual([])
      }
    )

    it('a missing and an empty header are charged to the address, apart from its own text', async () => {
      const app = await run({ global: limited(1, { key: 'header:x-api-key' }) })
      expect(await app.statuses([{}, byKey(''), byKey('127.0.0.1'), byKey('unknown')])).toEqual([
        200, 429, 200, 200
      ])
    })

    it('the name of a header is read regardless of case and blanks', async () => {
      const app = await run({ global: limited(1, { key: 'header: X-API-Key ' as 'header:x' }) })
      expect(await app.statuses([byKey('a'), byKey('a'), byKey('b')])).toEqual([200, 429, 200])
    })

    it.each([
      'header:',
      'header:a b',
      'header:x\r\ny',
      'header:x\ny',
      'header:x:y',
      'headers:x',
      'IP',
      '',
      'cookie'
    ])('a key that cannot be one, %j, is refused', async (key) => {
      await expect(framework.build({ global: limited(1, { key: key as 'ip' }) })).rejects.toMatchObject({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining('`key`')
      })
    })

    it('lists are refused where they are empty or hold what is no key', async () => {
      for (const key of [[], ['ip', 'nonsense'], ['ip', undefined]] as unknown as Options['key'][])
        await expect(framework.build({ global: limited(1, { key }) })).rejects.toMatchObject({
          code: 'HEADGATE_BAD_OPTION'
        })
    })

    it('KEY-25: long keys are not cut', async () => {
      const app = await run({ global: limited(1, { key: 'header:x-api-key' }), maxHeaderSize: 100_000 })
      for (const length of [64, 255, 256, 257, 300, 4000]) {
        const head = 'k'.repeat(length)
        const asks = [`${head}a`, `${head}b`, `${head}a`, `${head}b`, `${head}`].map(byKey)
        expect([length, await app.statuses(asks)]).toEqual([length, [200, 200, 429, 429, 200]])
      }
    })

    it('KEY-25: nor are values of 64 KiB, nor do they stay in memory', async () => {
      const keys: string[] = []
      const app = await run({
        global: limited(1, { key: 'header:x-api-key' }),
        maxHeaderSize: 200_000,
        routes: [{ path: '/', handler: ({ request }) => void keys.push(request.rateLimit!.key) }]
      })
      const head = 'k'.repeat(65_535)
      expect(await app.statuses([`${head}a`, `${head}b`, `${head}a`].map(byKey))).toEqual([200, 200, 429])
      expect(keys[0]).not.toBe(keys[1])
      for (const key of keys) expect(key.length).toBeLessThan(400)
    })

    it('a forwarding header of 64 KiB is one client, not an error', async () => {
      const app = await run({
        global: limited(1),
        trustProxy: 'loopback',
        maxHeaderSize: 200_000,
        collectErrors: true
      })
      const long = `${'198.51.100.1, '.repeat(4600)}203.0.113.9`
      expect(await app.statuses([xff(long), xff(long), xff('203.0.113.9')])).toEqual([200, 429, 429])
      expect(app.errors).toEqual([])
    })

    it('the parts of a list cannot be confused with one another', async () => {
      const app = await run({ global: limited(1, { key: ['header:x-a', 'header:x-b'] }) })
      const two = (a: string, b: string): Ask => ({ headers: { 'X-A': a, 'X-B': b } })
      const pairs: [string, string][] = [
        ['a', 'b'],
        ['ab', ''],
        ['', 'ab'],
        ['a:b', 'c'],
        ['a', 'b:c'],
        ['1:a', '1:b'],
        ['1:a1:b', ''],
        ['1', ':a1:b'],
        ['a,b', 'c'],
        ['a', 'b,c'],
        ['a|b', 'c'],
        ['a', 'b|c'],
        ['2:ab', 'c'],
        ['2', 'ab1:c']
      ]
      expect(await app.statuses(pairs.map(([a, b]) => two(a, b)))).toEqual(pairs.map(() => 200))
      expect(await app.statuses(pairs.map(([a, b]) => two(a, b)))).toEqual(pairs.map(() => 429))
    })

    it('lists join address, header and functions, async ones among them', async () => {
      const app = await run({
        global: limited(1, {
          key: ['ip', 'header:x-a', async (request) => String(request.headers['x-b'])]
        })
      })
      const ask = (peer: string, a: string, b: string): Ask => ({
        headers: { [peerField]: peer, 'X-A': a, 'X-B': b }
      })
      expect(
        await app.statuses([
          ask('203.0.113.1', 'a', 'b'),
          ask('203.0.113.1', 'a', 'b'),
          ask('203.0.113.2', 'a', 'b'),
          ask('203.0.113.1', 'c', 'b'),
          ask('203.0.113.1', 'a', 'c')
        ])
      ).toEqual([200, 429, 200, 200, 200])
    })

    it('`user` is a text, a number, or an object’s id or sub; without one it is the address, apart', async () => {
      const users: Record<string, unknown> = {
        text: 'ann',
        number: 7,
        object: { id: 'ann' },
        sub: { sub: 'ben' },
        numeric: { id: 7 },
        big: { id: 9_007_199_254_740_993n },
        bigSub: { sub: 9_007_199_254_740_992n },
        bare: 7n,
        nobody: undefined
      }
      const app = await run({
        before: [
          ({ request }) => void Object.assign(request, { user: users[String(request.headers['x-user'])] })
        ],
        global: limited(1, { key: 'user' })
      })
      const as = (user: string): Ask => ({ headers: { 'X-User': user } })
      expect(
        await app.statuses(['text', 'object', 'number', 'numeric', 'sub', 'nobody', 'nobody'].map(as))
      ).toEqual([200, 429, 200, 429, 200, 200, 429])
      expect(await app.statuses(['big', 'big', 'bigSub', 'bare'].map(as))).toEqual([200, 429, 200, 429])
    })

    it('KEY-14: a user object without a usable id is an error, never a shared bucket', async () => {
      const app = await run({
        before: [({ request }) => void Object.assign(request, { user: { name: 'ann' } })],
        global: limited(1, { key: 'user' }),
        collectErrors: true
      })
      expect(await app.statuses([{}, {}])).toEqual([500, 500])
      expect(app.errors).toMatchObject([{ code: 'HEADGATE_BAD_KEY' }, { code: 'HEADGATE_BAD_KEY' }])
    })
  })

  describe('a user who is known too late', () => {
    const logIn: Handler = ({ request }) => void Object.assign(request, { user: { id: 'ann' } })

    it.each(['user', ['ip', 'user']] as const)(
      'raises one warning, however many requests follow: %s',
      async (key) => {
        const app = await run({ global: limited(9, { key }), routes: [{ path: '/', handler: logIn }] })
        expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 200])
        const [warning, ...more] = await app.warnings('HEADGATE_LATE_USER')
        expect(warning?.message).toContain('`request.user`')
        expect(more).toEqual([])
      }
    )

    it('raises none where there is none at all, or the key is another, or nothing was limited', async () => {
      const nobody = await run({ global: limited(9, { key: 'user' }) })
      await nobody.statuses([{}, {}])
      expect(await nobody.warnings()).toEqual([])
      for (const more of [{ key: 'ip' }, { key: 'user', skip: () => true }] as const) {
        const app = await run({ global: limited(9, more), routes: [{ path: '/', handler: logIn }] })
        await app.statuses([{}, {}])
        expect(await app.warnings()).toEqual([])
      }
    })

    it('raises none where the user was known in time', async () => {
      const app = await run({
        before: [({ request }) => void Object.assign(request, { user: 'ann' })],
        global: limited(9, { key: 'user' })
      })
      await app.statuses([{}, {}])
      expect(await app.warnings()).toEqual([])
    })
  })

  describeBeyondHost(framework, 'key functions', () => {
    const values: Record<string, unknown> = {
      undefined: undefined,
      null: null,
      empty: '',
      object1: { id: 1 },
      object2: { id: 2 },
      true: true,
      nan: Number.NaN,
      infinity: Number.POSITIVE_INFINITY,
      symbol: Symbol('key'),
      list: ['a'],
      promiseOfNothing: Promise.resolve(undefined),
      promiseOfEmpty: Promise.resolve(''),
      promiseOfObject: Promise.resolve({ id: 1 })
    }

    it.each(Object.keys(values))(
      'KEY-14: %s is refused by an error that reaches the framework',
      async (name) => {
        const app = await run({
          global: limited(1, { key: () => values[name] as string }),
          collectErrors: true
        })
        expect(await app.statuses([{}, {}])).toEqual([500, 500])
        expect(app.errors).toMatchObject([{ code: 'HEADGATE_BAD_KEY' }, { code: 'HEADGATE_BAD_KEY' }])
      }
    )

    it('KEY-14: a promised text is awaited, and is the key that the text itself is', async () => {
      const results: unknown[] = [
        'u1',
        Promise.resolve('u1'),
        Promise.resolve(5),
        5,
        '5',
        5n,
        Promise.resolve(5n),
        Promise.resolve('u2')
      ]
      const app = await run({ global: limited(1, { key: () => results.shift() as string }) })
      expect(await app.statuses(results.map(() => ({})))).toEqual([200, 429, 200, 429, 429, 429, 429, 200])
    })

    it('KEY-14: two users decided at once are not mixed up by awaited keys', async () => {
      const app = await run({
        global: limited(1, {
          key: async (request) => {
            const user = String(request.headers['x-user'])
            // The later key is ready first, so that answers come in another order than requests.
            await new Promise((resolve) => setTimeout(resolve, user === 'a' ? 4 : 1))
            return user
          }
        })
      })
      const as = (user: string): Ask => ({ headers: { 'X-User': user } })
      const answers = await Promise.all(['a', 'b', 'a', 'b', 'c'].map((user) => app.send(as(user))))
      const by = (...at: number[]) => at.map((i) => answers[i]!.status).sort()
      expect([by(0, 2), by(1, 3), by(4)]).toEqual([[200, 429], [200, 429], [200]])
    })

    it('K8: the address is read once, at the start, also where the client leaves during an async skip', async () => {
      const clock = manualClock()
      let proceed!: () => void
      const waits = new Promise<void>((resolve) => {
        proceed = resolve
      })
      const keys: unknown[] = []
      const app = await run({
        global: {
          limit: 5,
          window: '1m',
          now: clock.read,
          skip: () => waits.then(() => false)
        },
        routes: [{ path: '/', handler: ({ request }) => void keys.push(request.rateLimit?.key) }]
      })
      const opened = app.open()
      opened.answer.catch(() => {})
      // The request must have reached `skip` before the client leaves; what makes it wait tells nobody.
      await new Promise((resolve) => setTimeout(resolve, 15))
      opened.abort()
      // The server learns of the abort from its socket, and a request held by `skip` tells nobody: a moment for that.
      await new Promise((resolve) => setTimeout(resolve, 15))
      proceed()
      // No event tells that a request whose client is gone was taken on: a moment for it to be.
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(keys).not.toContain('unknown')
      expect((await app.get()).headers['ratelimit-remaining']).toBe(keys.length === 0 ? '4' : '3')
    })
  })

  describe('paths', () => {
    it('KEY-20: a query neither changes the bucket nor escapes a rule for a path', async () => {
      const app = await run({ routes: [{ path: '/login', limit: limited(2) }] })
      const asks = ['/login', '/login?x=1', '/login?x=2', '/login?'].map((path) => ({ path }))
      expect(await app.statuses(asks)).toEqual([200, 200, 429, 429])
    })

    it('KEY-21: parameters of a route mint no buckets', async () => {
      const app = await run({ routes: [{ path: '/verify/:code', limit: limited(2) }] })
      const asks = ['/verify/a', '/verify/b', '/verify/c'].map((path) => ({ path }))
      expect(await app.statuses(asks)).toEqual([200, 200, 429])
    })

    it('routes with limits of their own have counters of their own', async () => {
      const own = limited(1)
      const app = await run({
        routes: [
          { path: '/a', limit: own },
          { path: '/b', limit: own }
        ]
      })
      expect(await app.statuses(['/a', '/b', '/a', '/b'].map((path) => ({ path })))).toEqual([
        200, 200, 429, 429
      ])
    })

    it('routes that name one policy share its counter', async () => {
      const app = await run({
        policies: { login: limited(2) },
        routes: [
          { path: '/a', limit: 'login' },
          { path: '/b', limit: 'login', method: 'POST' },
          { path: '/c', limit: limited(2) }
        ]
      })
      expect(
        await app.statuses([
          { path: '/a' },
          { path: '/b', method: 'POST' },
          { path: '/a' },
          { path: '/b', method: 'POST' },
          { path: '/c' }
        ])
      ).toEqual([200, 200, 429, 429, 200])
    })
  })
}
