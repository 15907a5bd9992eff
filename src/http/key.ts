import { HeadgateError } from '../core/errors.js'
import { badOption, shown } from '../core/options.js'
import { addressKey } from './address.js'
import { gather, isPromiseLike } from './promise.js'

const { createHash } = process.getBuiltinModule('node:crypto')

/** Who is charged: a value, or something that a request tells. */
export type KeySpec<Req> = 'ip' | 'user' | `header:${string}` | KeyFunction<Req> | readonly KeySpec<Req>[]

/** A key of one's own: a non-empty text or a number, or a promise of one. */
export type KeyFunction<Req> = (request: Req) => string | number | PromiseLike<string | number>

/** What reads the header fields of requests. */
export interface FieldReader<Req> {
  header(request: Req, name: string): string | readonly string[] | undefined
}

/** A compiled key. */
export interface KeyReader<Req> {
  /** `address` is the client's, canonical; it is read only where `usesAddress`. */
  read(request: Req, address: string, fields: FieldReader<Req>): string | Promise<string>
  /** True where the client's address may be the key. */
  readonly usesAddress: boolean
  /** True where it needs `request.user`, so that it must run after authentication. */
  readonly usesUser: boolean
}

/** Longer keys are known by their SHA-256, so that stores hold and compare a bounded text. */
const longestKey = 256

/** The key of preflights: the client's address, in a bucket apart from all others. */
export function preflightKey(address: string, ipv6Subnet: number | false): string {
  return `${fallbackMark}preflight:${addressKey(address, ipv6Subnet)}`
}

/** Begins the keys that stand for a missing header or user. No header value can begin so. */
const fallbackMark = '\0'

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
  const names = specs.map((part) => (typeof part === 'string' ? part : 'function'))
  return {
    read: parts.length === 1 ? parts[0]! : joined(parts),
    usesAddress: names.some((name) => name !== 'function'),
    usesUser: names.includes('user')
  }
}

function partOf<Req>(spec: unknown, ipv6Subnet: number | false): Part<Req> {
  if (spec === 'ip') return (_request, address) => addressKey(address, ipv6Subnet)
  if (typeof spec === 'function') return (request) => checked(spec(request))
  const orAddress = (value: string | undefined, address: string) =>
    value === undefined ? `${fallbackMark}${addressKey(address, ipv6Subnet)}` : bounded(escaped(value))
  if (spec === 'user') return (request, address) => orAddress(userOf(request), address)
  const name =
    typeof spec === 'string' && spec.startsWith('header:') ? spec.slice(7).trim().toLowerCase() : ''
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
    throw badOption(
      'key',
      spec,
      "give 'ip', 'user', 'header:NAME', a function of the request, or a list of these"
    )
  return (request, address, fields) => orAddress(headerText(fields.header(request, name)), address)
}

function joined<Req>(parts: readonly Part<Req>[]): Part<Req> {
  return (request, address, fields) => {
    const texts = gather(parts.map((part) => () => part(request, address, fields)))
    return isPromiseLike(texts) ? texts.then(join) : join(texts)
  }
}

function headerText(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value : value?.join(', ')
  return text === undefined || text === '' ? undefined : text
}

/** `request.user` if it is a text or number, else its `id`, else its `sub`. */
function userOf(request: unknown): string | undefined {
  const { user } = request as { user?: unknown }
  if (user === undefined || user === null) return undefined
  const { id, sub } = user as { id?: unknown; sub?: unknown }
  const identity = typeof user === 'object' ? (id ?? sub) : user
  if (typeof identity === 'string' && identity !== '') return identity
  if (typeof identity === 'number' && Number.isFinite(identity)) return String(identity)
  throw new HeadgateError(
    'HEADGATE_BAD_KEY',
    `\`request.user\` is ${shown(user)} without a usable \`id\` or \`sub\`: give \`key\` a function that names the user.`
  )
}

function checked(value: unknown): string | Promise<string> {
  if (typeof value === 'string' && value !== '') return bounded(value)
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (isPromiseLike(value)) return Promise.resolve(value).then(checked)
  throw new HeadgateError(
    'HEADGATE_BAD_KEY',
    `The key function returned ${shown(value)}: return a non-empty text or a number for every request.`
  )
}

function bounded(key: string): string {
  if (key.length <= longestKey) return key
  return `${fallbackMark}sha256:${createHash('sha256').update(key).digest('base64url')}`
}

function escaped(value: string): string {
  return value.startsWith(fallbackMark) ? fallbackMark + value : value
}

function join(parts: readonly string[]): string {
  return bounded(parts.map((part) => `${part.length}:${part}`).join(''))
}
