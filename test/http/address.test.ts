import { SocketAddress } from 'node:net'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, it } from 'vitest'
import { addressKey, canonicalAddress, checkSubnet, ipKey } from '../../src/http/address.js'
import { addressMatcher } from '../../src/http/address-list.js'

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
const ipv4 = octets.map((parts) => parts.join('.'))
const group = fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.nat(0xffff), fc.constantFrom(1, 0xffff))
const groups = fc.array(group, { minLength: 8, maxLength: 8 })
const full = (parts: readonly number[]): string => parts.map((part) => part.toString(16)).join(':')

/** Another way to write the same groups: some zero run as `::`, padded, upper case, dotted quad, by choice. */
const spelled = fc
  .record({ parts: groups, at: fc.nat(7), pad: fc.boolean(), upper: fc.boolean(), dotted: fc.boolean() })
  .map(({ parts, at, pad, upper, dotted }) => {
    const hex = parts.map((part) => part.toString(16).padStart(pad ? 4 : 1, '0'))
    const head = dotted ? hex.slice(0, 6) : hex
    let end = at
    while (end < head.length && parts[end] === 0) end++
    const left = head.slice(0, at).join(':')
    const tail = head.slice(end)
    if (dotted) tail.push([parts[6]! >> 8, parts[6]! & 255, parts[7]! >> 8, parts[7]! & 255].join('.'))
    const text = end > at ? `${left}::${tail.join(':')}` : [...head.slice(0, at), ...tail].join(':')
    return { parts, text: upper ? text.toUpperCase() : text }
  })

const embedded = (parts: readonly number[]): boolean =>
  [0, 0, 0, 0, 0, 0xffff].every((part, at) => parts[at] === part) ||
  [0x64, 0xff9b, 0, 0, 0, 0].every((part, at) => parts[at] === part)

/** A network, an address that shares some of its first groups, and a prefix length; neither reads as IPv4. */
const nearGroups = fc
  .tuple(groups, groups, fc.nat(8), fc.integer({ min: 1, max: 128 }))
  .map(([network, other, shared, length]): [string, string, number] => [
    full([0x2001, ...network.slice(1)]),
    full([0x2001, ...network.slice(1, shared), ...other].slice(0, 8)),
    length
  ])

describe('canonicalAddress', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['203.0.113.7:1', '203.0.113.7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['203.0.113.7:_secret.1-x', '203.0.113.7'],
    ['[2001:db8::5]', '2001:db8::5'],
    ['[2001:db8::5]:443', '2001:db8::5'],
    ['[2001:db8::5]:_x', '2001:db8::5'],
    ['[::ffff:203.0.113.7]:8080', '203.0.113.7'],
    ['2001:db8::1:8080', '2001:db8::1:8080'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::1%br-lan.100', 'fe80::1'],
    ['fe80::1%12', 'fe80::1'],
    ['[fe80::1%25en0]:80', 'fe80::1'],
    ['::ffff:203.0.113.7%eth0', '203.0.113.7'],
    ['::FFFF:CB00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['64:ff9b::203.0.113.7', '203.0.113.7'],
    ['64:ff9b::cb00:7107', '203.0.113.7'],
    ['64:ff9b:1::203.0.113.7', '64:ff9b:1::cb00:7107'],
    ['::203.0.113.7', '::cb00:7107'],
    ['::ffff:0:203.0.113.7', '::ffff:0:cb00:7107'],
    ['2001:db8:1:2::203.0.113.7', '2001:db8:1:2::cb00:7107'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:1:0:0:1:1:1', '::1:0:0:1:1:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1']
  ])('reads %s as %s', (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected)
  })

  it.each([
    '',
    ' ',
    '1',
    '2130706433',
    '0x7f.0.0.1',
    '010.0.0.1',
    '00.0.0.0',
    '1.2.3',
    '1.2.3.',
    '100.2.3.',
    '.1.2.3',
    '1..2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '999.1.1.1',
    '1.2.3.-4',
    '+1.2.3.4',
    '1.2.3.4 ',
    '\t1.2.3.4',
    '１.2.3.4',
    '1.2.3.4%eth0',
    '1.2.3.4:',
    '1.2.3.4:123456',
    '1.2.3.4:_',
    '1.2.3.4:80\n',
    '1.2.3.4:_a b',
    '[1.2.3.4]',
    '[1.2.3.4]:80',
    '[2001:db8::5',
    '2001:db8::5]',
    '[2001:db8::5]80',
    '[2001:db8::5]:',
    '[2001:db8::5]:123456',
    '[[::1]]',
    '[]',
    ':',
    ':::',
    ':1',
    '1:',
    '1:::2',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1:2:3:4::5:6:7:8',
    '12345::',
    '::g',
    '::1.2.3',
    '::01.2.3.4',
    '::ffff:1.2.3.400',
    '::ffff:0x1.2.3.4',
    '1:2:3:4:5:6:7:1.2.3.4',
    '1.2.3.4::',
    '::1.2.3.4:5',
    'fe80::1%',
    'fe80::1%a b',
    'fe80::1%a\u0000',
    'unknown',
    '_hidden',
    'client.example',
    '__proto__',
    '<script>'
  ])('refuses %j', (text) => {
    expect(canonicalAddress(text)).toBeNull()
  })

  it('reads every spelling of an IPv6 address as ipaddr.js reads its groups', () => {
    fc.assert(
      fc.property(spelled, ({ parts, text }) => {
        const canonical = canonicalAddress(text)!
        const read = ipaddr.parse(canonical)
        if (!embedded(parts)) expect((read as ipaddr.IPv6).parts).toEqual(parts)
        else expect((read as ipaddr.IPv4).octets).toEqual(new ipaddr.IPv6(parts).toByteArray().slice(12))
      }),
      { numRuns: 5000 }
    )
  })

  it('writes IPv6 as the system does and as ipaddr.js does', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        fc.pre(parts.slice(0, 5).some((part) => part !== 0) && !embedded(parts))
        const canonical = canonicalAddress(full(parts))!
        // ipaddr.js counts the colon before a run as part of its length, and so takes the second of two equal runs.
        const tied = (canonical.match(/::/) ? full(parts).match(/\b0(:0\b)+/g) : null) ?? []
        if (tied.length < 2) expect(canonical).toBe(new ipaddr.IPv6(parts).toRFC5952String())
        expect(canonical).toBe(new SocketAddress({ address: full(parts), family: 'ipv6' }).address)
      }),
      { numRuns: 5000 }
    )
  })

  it('takes IPv4 text as it is, mapped or not, with a port or without', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(65535), (text, port) => {
        expect(canonicalAddress(text)).toBe(text)
        expect(canonicalAddress(`::ffff:${text}`)).toBe(text)
        expect(canonicalAddress(`::FFFF:${text}`)).toBe(text)
        expect(canonicalAddress(`${text}:${port}`)).toBe(text)
        const isLocal =
          /^(0|10|127|22[4-9]|2[3-5]\d|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(
            text
          )
        expect(canonicalAddress(`64:ff9b::${text}`) === text).toBe(!isLocal)
      })
    )
  })

  it('gives text that it reads as itself, or null, for any text', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'0123456789abcfF:.%[]_gx, '), maxLength: 45 })
    fc.assert(
      fc.property(fc.oneof(soup, fc.string({ unit: 'binary' })), (text) => {
        const canonical = canonicalAddress(text)
        if (canonical === null) return
        expect(canonicalAddress(canonical)).toBe(canonical)
        expect(ipaddr.isValid(canonical)).toBe(true)
        expect(canonical).toMatch(/^[0-9a-f.:]+$/)
      }),
      { numRuns: 20_000 }
    )
  })
})

describe('addressKey', () => {
  it('is the network that ipaddr.js gives, for every prefix length', () => {
    fc.assert(
      fc.property(groups, fc.integer({ min: 32, max: 127 }), (parts, length) => {
        const canonical = canonicalAddress(full(parts))!
        fc.pre(canonical.includes(':') && canonical !== '::1')
        const network = ipaddr.IPv6.networkAddressFromCIDR(`${full(parts)}/${length}`)
        const [text, suffix] = addressKey(canonical, length).split('/')
        expect(ipaddr.IPv6.parse(text!).parts).toEqual(network.parts)
        expect(suffix).toBe(String(length))
        // Written by RFC 5952 as well; only where the network itself is not an embedded IPv4 address.
        if (!embedded(network.parts)) expect(canonicalAddress(text!)).toBe(text)
      }),
      { numRuns: 5000 }
    )
  })

  it.each([
    ['203.0.113.7', 32, '203.0.113.7'],
    ['unix', 56, 'unix'],
    ['unknown', 56, 'unknown'],
    ['::1', 56, '::1'],
    ['::2', 56, '::/56'],
    ['2001:db8:1:2::', 128, '2001:db8:1:2::'],
    ['2001:db8:1:2::', false, '2001:db8:1:2::'],
    ['2001:db8:1:2::', 64, '2001:db8:1:2::/64'],
    ['2001:db8:ffff:ffff::1', 33, '2001:db8:8000::/33'],
    ['1:2:3:4:5:6:7:ffff', 127, '1:2:3:4:5:6:7:fffe/127']
  ] as const)('of %s by %s is %s', (canonical, subnet, expected) => {
    expect(addressKey(canonical, subnet)).toBe(expected)
  })
})

describe('ipKey', () => {
  it('keeps mapped clients apart and equal to their plain form (KEY-04)', () => {
    expect(ipKey('::ffff:203.0.113.1')).toBe('203.0.113.1')
    expect(ipKey('::ffff:203.0.113.2')).toBe('203.0.113.2')
    expect(ipKey('203.0.113.1')).toBe('203.0.113.1')
  })

  it('gives a rotating host half one key, another network another (KEY-07)', () => {
    const hosts = ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2::3', '2001:db8:1:2::ffff:1']
    expect(new Set(hosts.map((host) => ipKey(host)))).toEqual(new Set(['2001:db8:1::/56']))
    expect(ipKey('2001:db8:9999::1')).toBe('2001:db8:9999::/56')
  })

  it('does not depend on the spelling (KEY-08)', () => {
    const spellings = ['2001:db8::1', '2001:DB8::1', '2001:0db8:0:0:0:0:0:1', '2001:db8:0::0:1']
    expect(new Set(spellings.map((text) => ipKey(text, 128)))).toEqual(new Set(['2001:db8::1']))
  })

  it('puts what is no address into one bucket (KEY-12, KEY-13)', () => {
    for (const text of [undefined, '', 'unknown', '999.1.1.1', '__proto__'])
      expect(ipKey(text)).toBe('unknown')
    expect(ipKey(null as unknown as undefined)).toBe('unknown')
  })

  it('refuses a prefix length that it cannot use', () => {
    expect(() => ipKey('203.0.113.1', 24)).toThrow(/`ipv6Subnet` is 24: /)
  })
})

describe('checkSubnet', () => {
  it('takes 32 to 128 and false', () => {
    for (const value of [32, 56, 64, 127, 128, false] as const) expect(checkSubnet(value)).toBe(value)
  })

  it.each([
    [31, '31'],
    [129, '129'],
    [56.5, '56.5'],
    [Number.NaN, 'NaN'],
    ['64', '"64"'],
    [true, 'true'],
    [null, 'null'],
    [undefined, 'undefined'],
    [{}, 'an object'],
    [64n, '64']
  ])('refuses %s, naming option, value and fix', (value, shown) => {
    const fault = {
      code: 'HEADGATE_BAD_OPTION',
      message: expect.stringContaining(`\`ipv6Subnet\` is ${shown}: `)
    }
    expect(() => checkSubnet(value)).toThrow(expect.objectContaining(fault))
    expect(() => checkSubnet(value)).toThrow(/integer from 32 to 128 .*or false/)
  })
})

describe('addressMatcher', () => {
  it.each([
    ['203.0.113.7', ['203.0.113.7'], ['203.0.113.8', '::203.0.113.7']],
    ['10.0.0.0/8', ['10.255.0.1'], ['11.0.0.1', 'a00::']],
    ['10.0.0.0/255.0.0.0', ['10.255.0.1'], ['11.0.0.1']],
    ['128.0.0.0/1', ['128.0.0.0', '255.255.255.255'], ['127.255.255.255']],
    ['::ffff:10.0.0.0/104', ['10.1.2.3'], ['11.0.0.1', '::a00:1']],
    ['::ffff:10.0.0.1', ['10.0.0.1'], ['10.0.0.2']],
    ['64:ff9b::203.0.113.0/120', ['203.0.113.9'], ['203.0.114.9']],
    ['2001:DB8:1::/48', ['2001:db8:1::', '2001:db8:1:ffff::1'], ['2001:db8:2::', '32.1.13.184']],
    ['::1', ['::1'], ['::2', '127.0.0.1']],
    ['loopback', ['127.0.0.1', '127.255.0.1', '::1'], ['128.0.0.1', '::2']],
    ['linklocal', ['169.254.1.1', 'fe80::1', 'febf::1'], ['169.255.0.1', 'fec0::1']],
    [
      'uniquelocal',
      ['10.0.0.1', '172.31.0.1', '192.168.0.1', 'fd00::1'],
      ['100.64.0.1', '172.32.0.1', 'fe80::1']
    ],
    ['unix', ['unix'], ['127.0.0.1', 'unknown']]
  ])('%s', (entry, inside, outside) => {
    const matches = addressMatcher('allow', [entry])
    for (const address of inside) expect([address, matches(address)]).toEqual([address, true])
    for (const address of [...outside, 'unknown'])
      expect([address, matches(address)]).toEqual([address, false])
    expect(matches('unix')).toBe(entry === 'unix')
  })

  it('agrees with ipaddr.js on random ranges', () => {
    const pairOf = fc.oneof(fc.tuple(ipv4, ipv4, fc.integer({ min: 1, max: 32 })), nearGroups)
    fc.assert(
      fc.property(pairOf, ([network, address, length]) => {
        const expected = ipaddr.parse(address).match(ipaddr.parseCIDR(`${network}/${length}`))
        expect(addressMatcher('allow', [`${network}/${length}`])(address)).toBe(expected)
      }),
      { numRuns: 3000 }
    )
  })

  it('matches what any entry matches, and nothing where there is none', () => {
    const matches = addressMatcher('allow', ['loopback', '203.0.113.0/24', '2001:db8::/32'])
    expect(['127.0.0.1', '203.0.113.9', '2001:db8::9', '198.51.100.1'].map(matches)).toEqual([
      true,
      true,
      true,
      false
    ])
    expect(addressMatcher('allow', [])('127.0.0.1')).toBe(false)
  })

  it.each([
    '',
    '1',
    'true',
    'localhost',
    '010.0.0.1',
    '10.0.0.1:80',
    '[::1]',
    'fe80::1%eth0',
    '10.0.0.0/',
    '10.0.0.0/0',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0.0/8.0',
    '10.0.0.0/255.0.255.0',
    '10.0.0.0/0.0.0.0',
    '2001:db8::/129',
    '2001:db8::/ffff::',
    '2001:db8::/255.255.0.0',
    '::/0',
    '0.0.0.0/0',
    '::ffff:0:0/96',
    '::ffff:10.0.0.0/8',
    '10.0.0.0/-8',
    ' 10.0.0.1',
    '10.0.0.1, 10.0.0.2',
    '__proto__',
    'toString'
  ])('refuses %j, naming option, entry and fix', (entry) => {
    const fault = {
      code: 'HEADGATE_BAD_OPTION',
      message: expect.stringContaining(`\`blocked\` is ${JSON.stringify(entry)}: it is `)
    }
    expect(() => addressMatcher('blocked', ['loopback', entry])).toThrow(expect.objectContaining(fault))
    expect(() => addressMatcher('blocked', [entry])).toThrow(/use an IPv4 or IPv6 address, a range/)
  })

  it('refuses what is not a list of texts', () => {
    for (const list of ['10.0.0.1', undefined, null, {}]) {
      expect(() => addressMatcher('blocked', list as unknown as string[])).toThrow(
        /^`blocked` is .*: give a list/
      )
    }
    for (const entry of [1, null, undefined, {}]) {
      expect(() => addressMatcher('blocked', [entry as unknown as string])).toThrow(
        /^`blocked` is .*: it is not text/
      )
    }
  })
})
