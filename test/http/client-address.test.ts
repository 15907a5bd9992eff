import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo, ListenOptions, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressKey, canonicalAddress } from '../../src/http/address.js'
import {
  type Client,
  clientOf,
  type Hop,
  hopByHop,
  type PeerSocket,
  peerAddress,
  type TrustedHops
} from '../../src/http/client-address.js'
import {
  type FieldValue,
  type ForwardedSource,
  forwardedEntries,
  maxEntries
} from '../../src/http/forwarded.js'

type TrustSetting = boolean | number | string | string[] | { function: { address: string; hop: number }[] }

interface Vector {
  id: string
  title: string
  input: {
    remoteAddress: string | null
    headers: Record<string, string | string[]>
    trustProxy: TrustSetting
    source: ForwardedSource
    ipv6Subnet: number | false
    localSocket: 'tcp' | 'unix'
  }
  expected: { address: string | null; key: string }
}

const vectorFile = new URL('../vectors/client-ip.json', import.meta.url)
const vectors = (JSON.parse(readFileSync(vectorFile, 'utf8')) as { clientIp: Vector[] }).clientIp

function compileTrust(factory: typeof express, setting: TrustSetting): TrustedHops | null {
  if (setting === false) return null
  if (typeof setting === 'object' && !Array.isArray(setting)) {
    return hopByHop((hop, at) => setting.function.some((pair) => pair.address === hop && pair.hop === at))
  }
  const app = factory()
  app.set('trust proxy', setting)
  return hopByHop(app.get('trust proxy fn'))
}

function clientAddress(
  socket: PeerSocket,
  field: FieldValue,
  source: ForwardedSource,
  trust: TrustedHops | null
): string {
  return clientOf({ socket, field, source, trust }).address
}

const tcp = (remoteAddress: string | undefined): PeerSocket => ({
  remoteAddress,
  server: { address: () => ({ address: '::', family: 'IPv6', port: 80 }) }
})
const unix: PeerSocket = { remoteAddress: undefined, server: { address: () => '/run/app.sock' } }
const loopback = compileTrust(express, 'loopback')!
const everybody: TrustedHops = (hops) => hops.length
const tens = compileTrust(express, ['10.0.0.0/8'])!

describe.each([
  ['Express 5', express],
  ['Express 4', createRequire(import.meta.url)('express4') as typeof express]
])('vectors/client-ip.json under the trust function of %s', (_, factory) => {
  it.each(vectors.map((vector) => [vector.id, vector.title, vector] as const))(
    '%s %s',
    (_id, _title, vector) => {
      const { remoteAddress, headers, trustProxy, source, ipv6Subnet, localSocket } = vector.input
      const socket = localSocket === 'unix' ? unix : tcp(remoteAddress ?? undefined)
      const address = clientAddress(socket, headers[source], source, compileTrust(factory, trustProxy))
      const shown = address === 'unknown' || address === 'unix' ? null : address
      expect({ address: shown, key: addressKey(address, ipv6Subnet) }).toEqual(vector.expected)
    }
  )
})

describe('peerAddress', () => {
  it('reads the peer of a TCP connection', () => {
    expect(peerAddress(tcp('203.0.113.7'))).toBe('203.0.113.7')
    expect(peerAddress(tcp('::ffff:203.0.113.7'))).toBe('203.0.113.7')
    expect(peerAddress({ remoteAddress: 'fe80::1%eth0' })).toBe('fe80::1')
  })

  it('has a defined answer where there is no address (KEY-13)', () => {
    expect(peerAddress(unix)).toBe('unix')
    for (const socket of [undefined, null, {}, tcp(undefined), tcp('garbage')])
      expect(peerAddress(socket)).toBe('unknown')
    expect(peerAddress({ server: { address: () => null } })).toBe('unknown')
  })

  it('does not throw where the socket does', () => {
    const fail = (): never => {
      throw new Error('ERR_HTTP2_SOCKET_UNBOUND')
    }
    expect(peerAddress(Object.defineProperty({}, 'remoteAddress', { get: fail }))).toBe('unknown')
    expect(peerAddress({ server: { address: fail } })).toBe('unknown')
  })
})

describe('peerAddress of a live socket', () => {
  async function peerSeen(listen: ListenOptions, before: (socket: Socket) => void): Promise<string> {
    let seen = ''
    const server = http.createServer((request) => {
      before(request.socket)
      seen = peerAddress(request.socket)
      request.socket.destroy()
    })
    await once(server.listen(listen), 'listening')
    const at = server.address() as AddressInfo | string
    const target = typeof at === 'string' ? { socketPath: at } : { host: '127.0.0.1', port: at.port }
    await once(http.get(target), 'error')
    server.close()
    return seen
  }
  const path = join(tmpdir(), `headgate-${process.pid}.sock`)

  it('is IPv4 on a dual-stack listener', async () => {
    expect(await peerSeen({ port: 0 }, () => {})).toBe('127.0.0.1')
  })

  it('is unknown on a TCP socket that was destroyed before it was read', async () => {
    expect(await peerSeen({ port: 0 }, (socket) => socket.destroy())).toBe('unknown')
  })

  it('is unix on a Unix-domain socket, destroyed or not', async () => {
    expect(await peerSeen({ path }, () => {})).toBe('unix')
    expect(await peerSeen({ path }, (socket) => socket.destroy())).toBe('unix')
  })
})

describe('clientAddress', () => {
  const forwarded = (
    socket: PeerSocket,
    header: string | string[] | undefined,
    trust: TrustedHops | null
  ): string => clientAddress(socket, header, 'x-forwarded-for', trust)

  it('leaves the proxy as the client for text that is no address (KEY-12)', () => {
    for (const header of ['unknown', '999.1.1.1', '192.0.2.1, unknown', '192.0.2.1, 999.1.1.1']) {
      expect(forwarded(tcp('127.0.0.1'), header, loopback)).toBe('127.0.0.1')
    }
  })

  it('does not let an unknown peer vouch, whatever is trusted', () => {
    for (const trust of [null, everybody, compileTrust(express, 1), loopback]) {
      expect(forwarded(tcp(undefined), '192.0.2.1', trust)).toBe('unknown')
    }
  })

  it('honours what a Unix-domain peer forwards where that peer is trusted', () => {
    const listed = hopByHop((hop) => hop === undefined || hop.startsWith('10.'))
    expect(forwarded(unix, '192.0.2.1, 203.0.113.7', listed)).toBe('203.0.113.7')
    expect(forwarded(unix, '203.0.113.7, 10.0.0.2', listed)).toBe('203.0.113.7')
    expect(forwarded(unix, '203.0.113.7', everybody)).toBe('203.0.113.7')
    expect(forwarded(unix, 'garbage', everybody)).toBe('unix')
    expect(forwarded(unix, '203.0.113.7', loopback)).toBe('unix')
    expect(forwarded(unix, '203.0.113.7', null)).toBe('unix')
  })

  it('takes a throw for a Unix-domain peer as no trust, and passes other throws on', () => {
    const fail = (): never => {
      throw new TypeError('invalid address')
    }
    expect(forwarded(unix, '203.0.113.7', fail)).toBe('unix')
    expect(() => forwarded(tcp('10.0.0.1'), '203.0.113.7', fail)).toThrow('invalid address')
  })

  it('asks about addresses as they are written, of those with a port about the address alone', () => {
    const asked: [Hop, number][] = []
    const trust = hopByHop((hop, index) => {
      asked.push([hop, index])
      return hop?.includes('10.0.') === true
    })
    expect(
      forwarded(tcp('::ffff:10.0.0.1'), '203.0.113.7:80, [::ffff:10.0.0.3]:443, ::FFFF:10.0.0.2', trust)
    ).toBe('203.0.113.7')
    expect(asked).toEqual([
      ['::ffff:10.0.0.1', 0],
      ['::FFFF:10.0.0.2', 1],
      ['10.0.0.3', 2],
      ['203.0.113.7', 3]
    ])
    asked.length = 0
    expect(forwarded(tcp('10.0.0.1'), undefined, trust)).toBe('10.0.0.1')
    expect(forwarded(tcp('10.0.0.1'), '', trust)).toBe('10.0.0.1')
    expect(asked).toEqual([])
    expect(forwarded(tcp('10.0.0.1'), [], trust)).toBe('10.0.0.1')
  })

  it.each([
    ['203.0.113.7', '203.0.113.7', 'client'],
    ['192.0.2.1, 127.0.0.1', '192.0.2.1', 'client'],
    ['unknown', '127.0.0.1', 'hidden'],
    ['192.0.2.1, _hidden', '127.0.0.1', 'hidden'],
    ['192.0.2.1, UNKNOWN:80, 127.0.0.1', '127.0.0.1', 'hidden'],
    ['203.0.113.7:123456', '127.0.0.1', 'unreadable'],
    ['192.0.2.1, <script>', '127.0.0.1', 'unreadable']
  ])('X-Forwarded-For: %s comes from %s: %s', (field, address, standing) => {
    const client = clientOf({ socket: tcp('127.0.0.1'), field, source: 'x-forwarded-for', trust: loopback })
    expect(client).toEqual({ address, standing })
  })

  it.each([
    ['for=203.0.113.7', '203.0.113.7', 'client'],
    ['x, for=203.0.113.7', '203.0.113.7', 'client'],
    ['for="a, for=203.0.113.7', '203.0.113.7', 'client'],
    ['for=192.0.2.1;host="a, for=203.0.113.7;host="b, c"', '203.0.113.7', 'client'],
    ['for=192.0.2.1, for=unknown', '127.0.0.1', 'hidden'],
    ['for=192.0.2.1, for="_hidden:80", for=127.0.0.1', '127.0.0.1', 'hidden'],
    ['for=192.0.2.1, by=127.0.0.1;proto=https', '127.0.0.1', 'hidden'],
    ['for="2001:db8::1"', '127.0.0.1', 'unreadable'],
    ['for=192.0.2.1;for=203.0.113.7', '127.0.0.1', 'unreadable'],
    ['x, for=127.0.0.1', '127.0.0.1', 'unreadable'],
    ['x', 'unknown', 'unreadable'],
    ['for="203.0.113.7', 'unknown', 'unreadable'],
    ['for=203.0.113.7, x', 'unknown', 'unreadable']
  ])('Forwarded: %s comes from %s: %s', (field, address, standing) => {
    const client = clientOf({ socket: tcp('127.0.0.1'), field, source: 'forwarded', trust: loopback })
    expect(client).toEqual({ address, standing })
  })

  it('the framework’s own word on X-Forwarded-For holds wherever it is an address', () => {
    const said = (ip: unknown, source: ForwardedSource): Client =>
      clientOf({
        socket: tcp('127.0.0.1'),
        field: '203.0.113.7',
        source,
        trust: loopback,
        ip: () => ip
      })
    const word = (address: string): Client => ({ address, standing: 'client' })
    expect(said('198.51.100.1', 'x-forwarded-for')).toEqual(word('198.51.100.1'))
    expect(said('::ffff:198.51.100.1', 'x-forwarded-for')).toEqual(word('198.51.100.1'))
    expect(said('2001:DB8::1%eth0', 'x-forwarded-for')).toEqual(word('2001:db8::1'))
    for (const other of [undefined, null, '', 'unknown', '198.51.100.1:80', '010.0.0.1', 7])
      expect(said(other, 'x-forwarded-for')).toEqual(word('203.0.113.7'))
    expect(said('198.51.100.1', 'forwarded').standing).toBe('unreadable')
  })

  it('a request without an address is nobody’s', () => {
    const gone = clientOf({
      socket: tcp(undefined),
      field: undefined,
      source: 'x-forwarded-for',
      trust: null
    })
    expect(gone).toEqual({ address: 'unknown', standing: 'unreadable' })
  })

  it('walks no further than 32 entries', () => {
    const header = Array.from({ length: 100 }, (_, at) => `10.0.0.${at}`).join(', ')
    expect(forwarded(tcp('10.0.0.1'), header, tens)).toBe(`10.0.0.${100 - maxEntries}`)
  })
})

/** The addresses that a field names, up to the first entry that is none. */
function forwardedChain(value: FieldValue, source: ForwardedSource): string[] {
  const chain = forwardedEntries(value, source).map((entry) => entry && canonicalAddress(entry))
  const end = chain.findIndex((address) => !address)
  return (end < 0 ? chain : chain.slice(0, end)) as string[]
}

describe('forwardedEntries', () => {
  it.each([
    [undefined, []],
    ['', []],
    [' , ,\t,', []],
    ['192.0.2.1', ['192.0.2.1']],
    ['192.0.2.1,203.0.113.7', ['203.0.113.7', '192.0.2.1']],
    [',192.0.2.1,\t, 203.0.113.7\t ,', ['203.0.113.7', '192.0.2.1']],
    ['192.0.2.1, unknown, 203.0.113.7, 10.0.0.2:443', ['10.0.0.2', '203.0.113.7']],
    ['192.0.2.1, 203.0.113.7\u00a0', []],
    ['192.0.2.1, "203.0.113.7"', []],
    ['192.0.2.1 203.0.113.7', []],
    ['__proto__', []],
    [
      ['192.0.2.1', '', '203.0.113.7, 10.0.0.2'],
      ['10.0.0.2', '203.0.113.7', '192.0.2.1']
    ]
  ])('X-Forwarded-For %j', (value, expected) => {
    expect(forwardedChain(value, 'x-forwarded-for')).toEqual(expected)
  })

  it.each([
    [undefined, []],
    ['', []],
    [' , ,', []],
    ['for=192.0.2.1', ['192.0.2.1']],
    ['FOR=192.0.2.1;Proto=https;by=_x', ['192.0.2.1']],
    ['proto=http;for=192.0.2.1;', ['192.0.2.1']],
    [';;for=192.0.2.1', ['192.0.2.1']],
    ['for=192.0.2.1 ; proto=http , for=203.0.113.7', ['203.0.113.7', '192.0.2.1']],
    ['for="192.0.2.1"', ['192.0.2.1']],
    ['for="192.0.2.1:80"', ['192.0.2.1']],
    ['for="[2001:db8::1]"', ['2001:db8::1']],
    ['for="[2001:DB8:cafe::17]:4711"', ['2001:db8:cafe::17']],
    ['for="[::ffff:192.0.2.1]:_p"', ['192.0.2.1']],
    ['for="\\1\\92.0.2.1"', ['192.0.2.1']],
    ['for=192.0.2.1;host="a,for=203.0.113.7;for=\\"x"', ['192.0.2.1']],
    ['for=192.0.2.1, proto=http, for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1, ;, for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1, for=_hidden, for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1, for="2001:db8::1", for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1, for="", for=203.0.113.7', ['203.0.113.7']],
    [
      ['for=192.0.2.1', 'for=203.0.113.7'],
      ['203.0.113.7', '192.0.2.1']
    ],
    [['for="192.0.2.1', 'for=203.0.113.7'], ['203.0.113.7']],
    ['for="192.0.2.1, for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1", for=203.0.113.7', ['203.0.113.7']],
    ['for=192.0.2.1;FOR=192.0.2.2, for=203.0.113.7', ['203.0.113.7']],
    ['proto=a;proto=b, for=203.0.113.7', ['203.0.113.7']],
    ['for = 192.0.2.1', []],
    ['for=', []],
    ['for', []],
    ['=192.0.2.1', []],
    ['for=192.0.2.1:80', []],
    ['for=[2001:db8::1]', []],
    ['for="[2001:db8::1]"x', []],
    ['for=192.0.2.1 for=203.0.113.7', []],
    ['for=192.0.2.1, for=203.0.113.7;host="a, for=198.51.100.1;x=\\"y"', ['203.0.113.7', '192.0.2.1']],
    ['for="a\u0001b", for=203.0.113.7', ['203.0.113.7']],
    ['for="a\\', []],
    ['192.0.2.1', []]
  ])('Forwarded %j', (value, expected) => {
    expect(forwardedChain(value, 'forwarded')).toEqual(expected)
  })

  it('stops after 32 entries, the nearest', () => {
    const addresses = Array.from({ length: 300 }, (_, at) => `10.0.${at >> 8}.${at & 255}`)
    const nearest = addresses.slice(-maxEntries).reverse()
    expect(forwardedChain(addresses.join(), 'x-forwarded-for')).toEqual(nearest)
    expect(forwardedChain(addresses.map((address) => `for=${address}`).join(), 'forwarded')).toEqual(nearest)
  })
})

describe('hostile fields', () => {
  const word = fc.constantFrom(
    ...[
      'for=',
      'For="',
      '"',
      '\\',
      ',',
      ', ',
      ';',
      '=',
      ' ',
      '\t',
      '[',
      ']',
      ':',
      '%',
      '.',
      '\u0000',
      '\r\n',
      '\u007f'
    ],
    ...[
      '192.0.2.1',
      '2001:db8::1',
      '[::1]:80',
      '::ffff:10.0.0.1',
      '127.0.0.1',
      'unknown',
      '_x',
      '__proto__',
      '0x7f'
    ],
    ...['constructor', 'é', '\u2028', '💥', '999', '::', 'proto=http', ',,,,', ';;;;', 'for=10.0.0.1, ']
  )
  const line = fc.oneof(
    { arbitrary: fc.array(word, { maxLength: 20 }).map((words) => words.join('')), weight: 4 },
    fc.string({ unit: 'binary', maxLength: 60 })
  )
  const field = fc.oneof({ arbitrary: line, weight: 4 }, fc.array(line, { maxLength: 4 }))
  const source = fc.constantFrom<ForwardedSource>('x-forwarded-for', 'forwarded')
  const peer = fc.constantFrom<PeerSocket>(
    tcp('127.0.0.1'),
    tcp('::1'),
    tcp('198.51.100.9'),
    tcp(undefined),
    unix
  )
  const ipv4 = fc
    .tuple(fc.integer({ min: 1, max: 126 }), fc.nat(255), fc.nat(255), fc.nat(255))
    .map((parts) => parts.join('.'))
  const ipv6 = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 8, maxLength: 8 })
  const hex = ipv6.map((parts) => parts.map((part) => part.toString(16)).join(':'))

  it('never throws and names an address, unix or unknown', () => {
    fc.assert(
      fc.property(peer, field, source, (socket, value, from) => {
        for (const trust of [loopback, everybody, compileTrust(express, 2)]) {
          const address = clientAddress(socket, value, from, trust)
          if (address !== 'unix' && address !== 'unknown') expect(canonicalAddress(address)).toBe(address)
        }
        expect(clientAddress(socket, value, from, null)).toBe(peerAddress(socket))
      }),
      { numRuns: 10_000 }
    )
  })

  it('takes what the proxy appended, whatever the client put in front', () => {
    const appended = fc.oneof(ipv4, hex)
    fc.assert(
      fc.property(line, appended, fc.boolean(), (front, address, separate) => {
        const expected = canonicalAddress(address)!
        const value = separate ? [front, address] : `${front}, ${address}`
        expect(clientAddress(tcp('127.0.0.1'), value, 'x-forwarded-for', loopback)).toBe(expected)
        const node = address.includes(':') ? `for="[${address}]"` : `for=${address}`
        const named = clientAddress(
          tcp('127.0.0.1'),
          separate ? [front, node] : `${front}, ${node}`,
          'forwarded',
          loopback
        )
        expect(named).toBe(expected)
      }),
      { numRuns: 10_000 }
    )
  })
})
