import { badOption } from '../core/options.js'
import { embeddedIPv4 } from './embedded-ipv4.js'

/** Prefix length in bits by which IPv6 clients are grouped unless `ipv6Subnet` says otherwise (RIPE-690 §4.2). */
export const defaultIPv6Subnet = 56

const shortestSubnet = 32
/** The bit that is set in digits and in lower-case letters alone. */
const lowerCaseBit = 0x20
const zero = 0x30
const dot = 0x2e
const colon = 0x3a

const hexBytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16))
const paddedHexBytes = hexBytes.map((text) => text.padStart(2, '0'))

/** The groups of the address in hand. One array for all calls: everything here is synchronous. */
const scratch = new Uint16Array(8)

/** How the address that was read last was written: where `::` stood, or -1, for how many groups; lower-case hex alone. */
let gapStart = -1
let gapLength = 0
let isPlain = false

/** Where the longest run of zero groups is, or -1, and how long it is. */
let runStart = -1
let runLength = 0

/** The text of `scratch` while it is that of the last canonical address, else '': its key is most often asked for next. */
let scratchText = ''

/**
 * Canonical text of an address, or null where the text is not an address. Accepts the node forms of RFC 7239 §6:
 * IPv4, IPv4:port, IPv6, [IPv6] and [IPv6]:port, where a port is one to five digits or `_obf`. IPv4 is four decimal
 * octets without leading zeros (RFC 3986 §3.2.2). The port and the zone (RFC 4007 §11.2) are dropped. Addresses
 * inside ::ffff:0:0/96 (RFC 4291 §2.5.5.2), 64:ff9b::/96 (RFC 6052 §2.1) and 2002::/16 (6to4, RFC 3056 §2: the IPv4
 * host that its next 32 bits name) are IPv4, whichever way they are written; other IPv6 text follows RFC 5952.
 *
 * @example canonicalAddress('[2001:DB8::0:1]:443') // '2001:db8::1'
 */
export function canonicalAddress(text: string): string | null {
  const end = text.length
  if (readIPv4(text, 0, end) >= 0) return text
  if (text.charCodeAt(0) === 0x5b) {
    const close = text.indexOf(']')
    if (close < 0 || (close + 1 < end && !isPort(text, close + 1))) return null
    return canonicalIPv6(text, 1, close)
  }
  const first = text.indexOf(':')
  if (first < 0) return null
  if (text.indexOf(':', first + 1) >= 0) return canonicalIPv6(text, 0, end)
  return readIPv4(text, 0, first) >= 0 && isPort(text, first) ? text.slice(0, first) : null
}

/**
 * Store key of a canonical address: IPv4, `'::1'`, `'unix'` and `'unknown'` as they are, other IPv6 as `network/len`
 * so that a group never has the key of a host. `ipv6Subnet` is in bits, 32 to 128; 128 or false keys on the address.
 */
export function addressKey(canonical: string, ipv6Subnet: number | false): string {
  if (ipv6Subnet === false || ipv6Subnet === 128 || canonical === '::1') return canonical
  if (canonical.indexOf(':') < 0) return canonical
  const isRead = canonical === scratchText
  scratchText = ''
  if (!isRead && !readGroups(canonical, 0, canonical.length, scratch)) return canonical
  const partial = ipv6Subnet >> 4
  scratch[partial] = scratch[partial]! & (0xffff << (16 - (ipv6Subnet & 15)))
  for (let at = partial + 1; at < 8; at++) scratch[at] = 0
  return `${groupText(scratch)}/${ipv6Subnet}`
}

/**
 * The key of an address inside a key function of one's own: the text is made canonical and IPv6 is grouped by
 * `ipv6Subnet` bits (56). Text that is no address, and a missing address, give `'unknown'`: one bucket that all such
 * requests share.
 *
 * @throws HeadgateError `HEADGATE_BAD_OPTION` where `ipv6Subnet` is neither an integer from 32 to 128 nor false
 * @example const key = (req) => `${ipKey(req.ip)} ${req.body.account}`
 */
export function ipKey(address: string | undefined, ipv6Subnet: number | false = defaultIPv6Subnet): string {
  const subnet = checkSubnet(ipv6Subnet)
  const canonical = typeof address === 'string' ? canonicalAddress(address) : null
  return canonical === null ? 'unknown' : addressKey(canonical, subnet)
}

/**
 * The option `ipv6Subnet`: a prefix length in bits, an integer from 32 to 128, or false for no grouping.
 *
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for any other value; text is not coerced
 */
export function checkSubnet(value: unknown): number | false {
  if (value === false) return false
  if (Number.isInteger(value)) {
    const length = value as number
    if (length >= shortestSubnet && length <= 128) return length
  }
  throw badOption(
    'ipv6Subnet',
    value,
    `use an integer from ${shortestSubnet} to 128 (${defaultIPv6Subnet} is the default), or false for no grouping`
  )
}

/** The bits of the IPv4 address in text[start, end) as a number from 0 to 2^32 - 1, -1 where it is none. */
export function readIPv4(text: string, start: number, end: number): number {
  if (end - start < 7 || end - start > 15) return -1
  let bits = 0
  let octet = -1
  let dots = 0
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === dot) {
      if (octet < 0 || ++dots > 3) return -1
      bits = bits * 256 + octet
      octet = -1
    } else {
      if (code < 0x30 || code > 0x39 || octet === 0) return -1
      octet = (octet < 0 ? 0 : octet * 10) + code - 0x30
      if (octet > 255) return -1
    }
  }
  return dots === 3 && octet >= 0 ? bits * 256 + octet : -1
}

/**
 * Reads the IPv6 address in text[start, end), without a zone, into eight groups (RFC 4291 §2.2, forms 1 to 3); false
 * where it is none. From text to /56 key over 10 000 addresses on Node 20, ipaddr.js takes 1.7 µs, this reader and
 * `groupText` 0.7 µs; and ipaddr.js takes `::192.0.2.1` for a mapped address.
 */
export function readGroups(text: string, start: number, end: number, groups: Uint16Array): boolean {
  let at = start
  let count = 0
  let gap = -1
  let signs = lowerCaseBit
  let hasLeadingZero = false
  let hasOctets = false
  isPlain = false
  if (text.charCodeAt(at) === colon) {
    if (text.charCodeAt(at + 1) !== colon || end - start < 2) return false
    gap = 0
    at += 2
  }
  while (at < end) {
    const from = at
    let group = 0
    for (let digit = 0; at < end; at++) {
      const code = text.charCodeAt(at)
      digit = hexDigit(code)
      if (digit < 0) break
      signs &= code
      group = (group << 4) | digit
    }
    if (at < end && text.charCodeAt(at) === dot) {
      const bits = readIPv4(text, from, end)
      if (bits < 0 || count > 6) return false
      groups[count++] = bits >>> 16
      groups[count++] = bits & 0xffff
      hasOctets = true
      break
    }
    if (at === from || at - from > 4 || count === 8) return false
    if (text.charCodeAt(from) === zero && at - from > 1) hasLeadingZero = true
    groups[count++] = group
    if (at === end) break
    if (text.charCodeAt(at++) !== colon || at === end) return false
    if (text.charCodeAt(at) === colon) {
      if (gap >= 0) return false
      gap = count
      at++
    }
  }
  gapStart = gap
  gapLength = gap < 0 ? 0 : 8 - count
  isPlain = (signs & lowerCaseBit) !== 0 && !hasLeadingZero && !hasOctets
  if (gap < 0) return count === 8
  return count < 8 && spread(groups, gap, count)
}

/** Moves the groups behind `::` to the end and zeroes those that it stands for. */
function spread(groups: Uint16Array, gap: number, count: number): true {
  let to = 8
  for (let from = count; from > gap; ) groups[--to] = groups[--from]!
  while (to > gap) groups[--to] = 0
  return true
}

function canonicalIPv6(text: string, start: number, end: number): string | null {
  // What a dual-stack listener reports for an IPv4 peer; other spellings of it go through the groups.
  if (start === 0 && text.startsWith('::ffff:') && readIPv4(text, 7, end) >= 0) return text.slice(7)
  const percent = text.indexOf('%', start)
  if (percent >= 0 && !isZone(text, percent + 1, end)) return null
  scratchText = ''
  if (!readGroups(text, start, percent < 0 ? end : percent, scratch)) return null
  const bits = embeddedIPv4(scratch)
  if (bits < 0) {
    scratchText =
      start === 0 && end === text.length && percent < 0 && isCanonical(scratch) ? text : groupText(scratch)
    return scratchText
  }
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`
}

/** RFC 5952 §4: lower case, no leading zeros, the longest run of two or more zero groups (the first on a tie) as `::`. */
function groupText(groups: Uint16Array): string {
  findRun(groups)
  let text = ''
  for (let at = 0; at < 8; at++) {
    if (at === runStart) {
      text += at === 0 ? '::' : ':'
      at += runLength - 1
    } else {
      const group = groups[at]!
      text += group < 256 ? hexBytes[group]! : hexBytes[group >> 8]! + paddedHexBytes[group & 255]!
      if (at < 7) text += ':'
    }
  }
  return text
}

/** Finds the longest run of two or more zero groups. */
function findRun(groups: Uint16Array): void {
  runStart = -1
  runLength = 1
  for (let at = 0; at < 8; at++) {
    const from = at
    while (at < 8 && groups[at] === 0) at++
    if (at - from > runLength) {
      runStart = from
      runLength = at - from
    }
  }
}

/** True if the groups were just read from what `groupText` makes of them: sockets report addresses so (bench/ipv6.js). */
function isCanonical(groups: Uint16Array): boolean {
  if (!isPlain) return false
  findRun(groups)
  return gapStart === runStart && gapLength === (runStart < 0 ? 0 : runLength)
}

/** Whether text from `at` is `:port`, one to five digits or an obfport (RFC 7239 §6). */
function isPort(text: string, at: number): boolean {
  return /^:(?:\d{1,5}|_[A-Za-z0-9._-]+)$/.test(text.slice(at))
}

/** A zone is one or more visible characters (interface names have few limits), but never a bracket. */
function isZone(text: string, start: number, end: number): boolean {
  return start < end && /^[!-Z\\^-~]+$/.test(text.slice(start, end))
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
