import { HeadgateError } from '../core/errors.js'
import { badOption, shown } from '../core/options.js'
import { addressKey, checkSubnet, defaultIPv6Subnet } from './address.js'
import { fallbackKey, functionKey, joinedKey, valueKey } from './key-text.js'
import { isNumber, keyOfKnown, type PartKind, userText, type Who } from './known.js'
import { comparablePath } from './path.js'
import { gather, isPromiseLike } from './promise.js'

/** Who is charged: a value, or something that a request tells. */
export type KeySpec<Req> =
  | 'ip'
  | 'user'
  | 'method'
  | 'path'
  | 'route'
  | `header:${string}`
  | KeyFunction<Req>
  | readonly KeySpec<Req>[]

/** A key of one's own: a non-empty text or a number, or a promise of one. */
export type KeyFunction<Req> = (
  request: Req
) => string | number | bigint | PromiseLike<string | number | bigint>

/** What reads the header fields of requests. */
export interface FieldReader<Req> {
  header(request: Req, name: string): string | readonly string[] | undefined
  method?(request: Req): string
  url?(request: Req): string | undefined
  route?(request: Req): string | null | undefined
}

/** A compiled key. */
export interface KeyReader<Req> {
  /** `address` is the client's, canonical; it is read only where `usesAddress`. */
  read(request: Req, address: string, fields: FieldReader<Req>): string | Promise<string>
  /** The key of someone of whom no request is at hand. */
  of(who: Who): string
  /** True where the client's address may be the key. */
  readonly usesAddress: boolean
  /** True where it needs `request.user`, so that it must run after authentication. */
  readonly usesUser: boolean
}

type Part<Req> = (request: Req, address: string, fields: FieldReader<Req>) => string | Promise<string>

/**
 * Compiles the option `key`.
 *
 * A request without the header or the user that a key names is charged to its address, in a bucket apart from
 * `'ip'` keys. The parts of a list are joined with their lengths, so that no two lists give one key.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for anything else than a key
 */
export function keyReader<Req>(spec: KeySpec<Req>, ipv6Subnet: number | false): KeyReader<Req> {
  const specs: readonly unknown[] = Array.isArray(spec) ? spec.flat(8) : [spec]
  if (specs.length === 0)
    throw badOption('key', spec, "name at least one part, such as ['ip', 'header:x-api-key']")
  const parts = specs.map((part) => partOf<Req>(part, ipv6Subnet))
  const kinds = specs.map(kindOf)
  return {
    read: parts.length === 1 ? parts[0]! : joined(parts),
    of: (who) => keyOfKnown(kinds, ipv6Subnet, who),
    usesAddress: kinds.some((kind) => kind !== 'function' && kind !== 'place'),
    usesUser: kinds.includes('user')
  }
}

/**
 * The key that a limiter with this option `key` charges someone to, as `request.rateLimit.key` and the stores have it.
 * @param who what is known of them, or for a list of keys a list
 * @param ipv6Subnet as the limiter's option
 * @example keyOf('user', { user: 'ada' }) // 'ada'
 * @example keyOf('user', { ip: '203.0.113.7' }) // 'ip:203.0.113.7', who has not logged in
 * @throws HeadgateError `HEADGATE_BAD_KEY` where that does not tell the key, `HEADGATE_BAD_OPTION`
 */
export function keyOf(key: KeySpec<never>, who: Who, ipv6Subnet: number | false = defaultIPv6Subnet): string {
  return keyReader(key, checkSubnet(ipv6Subnet)).of(who)
}

function kindOf(spec: unknown): PartKind {
  if (typeof spec === 'function') return 'function'
  if (Object.hasOwn(places, spec as string)) return 'place'
  return spec === 'ip' || spec === 'user' ? spec : 'header'
}

/** What is asked for, and how. All that ask for the same are one. */
const places = {
  method: <Req>(request: Req, fields: FieldReader<Req>) => fields.method?.(request),
  path: <Req>(request: Req, fields: FieldReader<Req>) => comparablePath(fields.url?.(request) ?? ''),
  // Where there is none, each path stands for itself.
  route: <Req>(request: Req, fields: FieldReader<Req>) =>
    fields.route?.(request) ?? comparablePath(fields.url?.(request) ?? '')
} as const

function partOf<Req>(spec: unknown, ipv6Subnet: number | false): Part<Req> {
  if (spec === 'ip') return (_request, address) => addressKey(address, ipv6Subnet)
  if (typeof spec === 'function') return (request) => checked(spec(request))
  if (Object.hasOwn(places, spec as string)) {
    const read = places[spec as keyof typeof places]
    return (request, _address, fields) => valueKey(read(request, fields) || '-')
  }
  const orAddress = (value: string | undefined, address: string) =>
    value === undefined ? fallbackKey(addressKey(address, ipv6Subnet)) : valueKey(value)
  if (spec === 'user') return (request, address) => orAddress(userOf(request), address)
  const name =
    typeof spec === 'string' && spec.startsWith('header:') ? spec.slice(7).trim().toLowerCase() : ''
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
    throw badOption(
      'key',
      spec,
      "give 'ip', 'user', 'header:NAME', 'method', 'path', 'route', a function of the request, or a list of these"
    )
  return (request, address, fields) => orAddress(headerText(fields.header(request, name)), address)
}

function joined<Req>(parts: readonly Part<Req>[]): Part<Req> {
  return (request, address, fields) => {
    const texts = gather(parts.map((part) => () => part(request, address, fields)))
    return isPromiseLike(texts) ? texts.then(joinedKey) : joinedKey(texts)
  }
}

/** What a field says; undefined where it is missing or empty. */
export function headerText(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value : value?.join(', ')
  return text === undefined || text === '' ? undefined : text
}

/** `request.user` if it is a text or a number, bigints among them, else its `id`, else its `sub`. */
export function userOf(request: unknown): string | undefined {
  const { user } = request as { user?: unknown }
  return user === undefined || user === null ? undefined : userText(user, 'request.user')
}

function checked(value: unknown): string | Promise<string> {
  if (typeof value === 'string' && value !== '') return functionKey(value)
  if (isNumber(value)) return String(value)
  if (isPromiseLike(value)) return Promise.resolve(value).then(checked)
  throw new HeadgateError(
    'HEADGATE_BAD_KEY',
    `The key function returned ${shown(value)}: return a non-empty text or a number for every request.`
  )
}
