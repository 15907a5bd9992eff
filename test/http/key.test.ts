import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type KeySpec, keyOf, keyReader } from '../../src/http/key.js'
import { joinedKey } from '../../src/http/key-text.js'
import { isWhole } from '../support/extent.js'

/** What tells a client apart: a value, or an address where there is none. */
interface Client {
  readonly value: string | undefined
  readonly address: string
}

interface Request {
  readonly user: string | undefined
  readonly headers: { readonly 'x-key': string | undefined }
}

const fields = { header: ({ headers }: Request, name: string) => headers[name as 'x-key'] }
const address = fc.ipV4()
/** Values that are made to be taken for something else, and any others. */
const value = fc.oneof(
  fc.string({ minLength: 1, unit: 'binary' }),
  fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('a', ':', '%', '0', '\0', '\ud800', '\n') }),
  address.map((ip) => `ip:${ip}`),
  fc
    .tuple(fc.constantFrom('ip:', 'sha256:', 'text:', '%'), fc.string({ unit: 'binary' }))
    .map((parts) => parts.join('')),
  fc.string({ minLength: 250, maxLength: 300, unit: 'binary' })
)
const client: fc.Arbitrary<Client> = fc.record({
  value: fc.oneof(value, fc.constant(undefined)),
  address
})
const runs = { numRuns: isWhole ? 20_000 : 2000 }

const requestOf = ({ value: said }: Client): Request => ({ user: said, headers: { 'x-key': said } })
const read = (key: KeySpec<Request>, one: Client) =>
  keyReader(key, 56).read(requestOf(one), one.address, fields) as string
const isSame = (a: Client, b: Client) =>
  a.value === b.value && (a.value !== undefined || a.address === b.address)
const knownOf = ({ value: said, address: ip }: Client, by: 'user' | 'header') =>
  said === undefined ? { ip } : { [by]: said }

describe('keys', () => {
  const specs = ['user', 'header:x-key'] as const

  it.each(specs)('%s: no client has the key of another, whatever it says', (key) => {
    fc.assert(
      fc.property(client, client, (a, b) => {
        expect(read(key, a) === read(key, b)).toBe(isSame(a, b))
      }),
      runs
    )
  })

  it.each(specs)('%s: no client says what another’s key is written as', (key) => {
    fc.assert(
      fc.property(client, address, (a, at) => {
        const b = { value: read(key, a), address: at }
        expect(read(key, a) === read(key, b)).toBe(isSame(a, b))
      }),
      runs
    )
  })

  it('of functions: no two values have one key, and the key of a key is itself', () => {
    const key = ({ user }: Request) => user!
    const of = (said: string) => read(key, { value: said, address: '192.0.2.1' })
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(of(a) === of(b)).toBe(a === b)
        expect(keyOf(key, of(a))).toBe(of(a))
      }),
      runs
    )
  })

  it.each(specs)('%s: what is known by hand tells the key of the request, as does the key itself', (key) => {
    const by = key === 'user' ? 'user' : 'header'
    fc.assert(
      fc.property(client, (one) => {
        const charged = read(key, one)
        expect(keyOf(key, knownOf(one, by))).toBe(charged)
        expect(keyOf(key, charged)).toBe(charged)
        expect(keyOf([key, 'ip'], [knownOf(one, by), one.address])).toBe(read([key, 'ip'], one))
      }),
      runs
    )
  })

  it('of characters beyond the first plane that do not show are as many as those', () => {
    const keys = ['\u{e0001}', '\u{e0020}', '\u{110bd}', '\u202e', '\u200b'].map((user) =>
      keyOf('user', { user })
    )
    expect(new Set(keys).size).toBe(keys.length)
    for (const key of keys) expect(key).toMatch(/^text:(%[0-9a-f]{4})+$/)
  })

  it('can be printed, and are of a bounded length', () => {
    fc.assert(
      fc.property(
        client,
        fc.constantFrom<KeySpec<Request>>(...specs, ['user', 'header:x-key', 'ip']),
        (one, key) => {
          expect(read(key, one)).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]{1,256}$/u)
        }
      ),
      runs
    )
  })

  it('of lists are the same for the same parts alone', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('0', '1', ':', 'a') }), {
      minLength: 1,
      maxLength: 3
    })
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(joinedKey(a) === joinedKey(b)).toBe(
          a.length === b.length && a.every((part, i) => part === b[i])
        )
      }),
      runs
    )
  })

  it('are what they were told as, where that can be taken for nothing else', () => {
    const at = { ip: '203.0.113.7' }
    expect(keyOf('ip', at)).toBe('203.0.113.7')
    expect(keyOf('user', { user: 'ada' })).toBe('ada')
    expect(keyOf('user', at)).toBe('ip:203.0.113.7')
    expect(keyOf('user', { ip: '2001:db8:1:2::3' })).toBe('ip:2001:db8:1::/56')
    expect(keyOf('ip', '2001:db8:1:2::3', 64)).toBe('2001:db8:1:2::/64')
    expect(keyOf('header:x-api-key', { header: 'käse 100%' })).toBe('käse 100%')
    expect(keyOf('user', { user: 'ip:203.0.113.7' })).toBe('text:ip:203.0.113.7')
    expect(keyOf('ip', { ip: 'unix' })).toBe('unix')
    expect(keyOf(() => '', 'ip:203.0.113.7')).toBe('ip:203.0.113.7')
    expect(() => keyOf('ip', at, 20)).toThrow(/ipv6Subnet/)
    expect(() => keyOf('user', { headers: {} } as never)).toThrow(/limiter\.keyOf\(request\)/)
  })
})

describe('a key of what is asked for', () => {
  const asked = { url: '/Users/%37?page=2', method: 'GET', route: '/users/:id' as string | null }
  const host = {
    header: () => undefined,
    method: ({ method }: typeof asked) => method,
    url: ({ url }: typeof asked) => url,
    route: ({ route }: typeof asked) => route
  }
  const keyFor = (key: KeySpec<typeof asked>, request = asked) =>
    keyReader(key, 56).read(request, '203.0.113.7', host)

  it('is the same however a path is written', () => {
    expect(keyFor('path')).toBe('/users/7')
    expect(keyFor('path', { ...asked, url: '/users/7/' })).toBe('/users/7')
    expect(keyFor('path', { ...asked, url: '/users/8' })).toBe('/users/8')
  })

  it('is a route, or the path where there is none', () => {
    expect(keyFor('route')).toBe('/users/:id')
    expect(keyFor('route', { ...asked, route: null })).toBe('/users/7')
    expect(keyFor('method')).toBe('GET')
  })

  it('goes with others', () => {
    expect(keyFor(['ip', 'method', 'path'])).toBe(joinedKey(['203.0.113.7', 'GET', '/users/7']))
    expect(keyOf(['ip', 'path'], ['203.0.113.7', '/users/7'])).toBe(joinedKey(['203.0.113.7', '/users/7']))
  })

  it('is not told by what is known of somebody', () => {
    expect(() => keyOf('path', { ip: '203.0.113.7' })).toThrow(
      'give the request, or a list with a text for each part'
    )
  })
})
