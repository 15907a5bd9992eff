import { HeadgateError } from '../core/errors.js'
import { type Key, keyText } from '../core/key-and-cost.js'
import { checkNames, shown } from '../core/options.js'
import { addressKey, canonicalAddress } from './address.js'
import { fallbackKey, functionKey, isKeyText, joinedKey, valueKey } from './key-text.js'

/**
 * What an operator knows of someone. Each part of a key takes what it is made of; one by user or header takes `ip` where
 * that alone is known, as for a request that has no user or no such header.
 */
export interface Known {
  /** As `request.user`: a text, a number, or an object with `id` or `sub`. */
  readonly user?: unknown
  /** The client's address. */
  readonly ip?: string | undefined
  /** The value of the header that the key names. */
  readonly header?: string | undefined
}

/**
 * Someone who can be limited: a key as `request.rateLimit.key` has it, or what a key function returned; what is known of
 * them; and for a key that is a list either of these for each of its parts.
 */
export type Who = Key | Known | readonly (Key | Known)[]

/** What a part of a key is made of. */
export type PartKind = 'ip' | 'user' | 'header' | 'place' | 'function'

const knownNames = ['user', 'ip', 'header']
/** Keys that stand for clients without an address. */
const standIns: readonly string[] = ['unix', 'unknown']

/**
 * The key of someone, by a key of these parts.
 * @throws HeadgateError `HEADGATE_BAD_KEY` where that does not tell it, `HEADGATE_UNKNOWN_OPTION`
 */
export function keyOfKnown(parts: readonly PartKind[], ipv6Subnet: number | false, who: Who): string {
  if (isList(who)) {
    if (who.length !== parts.length)
      throw badWho(`${who.length} parts were given of a key of ${parts.length}: give one for each.`)
    const texts = parts.map((part, i) => partOf(part, ipv6Subnet, who[i]!))
    return texts.length === 1 ? texts[0]! : joinedKey(texts)
  }
  if (parts.length === 1) return partOf(parts[0]!, ipv6Subnet, who)
  if (typeof who !== 'object' || who === null) return literalKey('function', ipv6Subnet, keyText(who))
  if (parts.filter((part) => part === 'header').length > 1)
    throw badWho('The key has several headers: give a list with a value for each part.')
  return joinedKey(parts.map((part) => knownKey(part, ipv6Subnet, who)))
}

/** The text that identifies a user. */
export function userText(user: unknown, option: string): string {
  const { id, sub } = user as { id?: unknown; sub?: unknown }
  const identity = typeof user === 'object' ? (id ?? sub) : user
  if (typeof identity === 'string' && identity !== '') return identity
  if (isNumber(identity)) return String(identity)
  throw new HeadgateError(
    'HEADGATE_BAD_KEY',
    `\`${option}\` is ${shown(user)} without a usable \`id\` or \`sub\`: give \`key\` a function that names the user.`
  )
}

/** True for what a number of a user can be. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}

function isList(who: Who): who is readonly (Key | Known)[] {
  return Array.isArray(who)
}

function partOf(part: PartKind, ipv6Subnet: number | false, who: Key | Known): string {
  return typeof who === 'object' && who !== null
    ? knownKey(part, ipv6Subnet, who)
    : literalKey(part, ipv6Subnet, keyText(who))
}

function knownKey(part: PartKind, ipv6Subnet: number | false, known: Known): string {
  if ('headers' in known) throw badWho('Of a request its limiter tells the key: `limiter.keyOf(request)`.')
  checkNames(known, knownNames, 'what is known of someone')
  const { user, ip, header } = known
  if (part === 'user' && user !== undefined) return valueKey(userText(user, 'user'))
  if (part === 'header' && header !== undefined) return valueKey(keyText(header))
  if (part === 'place')
    throw badWho('The key is of what is asked for: give the request, or a list with a text for each part.')
  if (part === 'function')
    throw badWho('The key is a function: give the request, or what the function returns for it.')
  if (ip === undefined)
    throw badWho(
      part === 'ip'
        ? "The key is an address: give { ip: '203.0.113.7' }."
        : `The key is a ${part}: give { ${part}: … }, or { ip: … } for requests without one.`
    )
  const address = ipText(ip, ipv6Subnet)
  return part === 'ip' ? address : fallbackKey(address)
}

/** A key as it stands; or a value that is none, for which its key stands. */
function literalKey(part: PartKind, ipv6Subnet: number | false, text: string): string {
  const address = part === 'ip' ? canonicalAddress(text) : null
  if (address !== null) return addressKey(address, ipv6Subnet)
  if (isKeyText(text)) return text
  return part === 'function' ? functionKey(text) : valueKey(text)
}

function ipText(ip: unknown, ipv6Subnet: number | false): string {
  const address = typeof ip === 'string' ? canonicalAddress(ip) : null
  if (address !== null) return addressKey(address, ipv6Subnet)
  if (standIns.includes(ip as string)) return ip as string
  throw badWho(`\`ip\` is ${shown(ip)}, which is no address.`)
}

function badWho(message: string): HeadgateError {
  return new HeadgateError('HEADGATE_BAD_KEY', message)
}
