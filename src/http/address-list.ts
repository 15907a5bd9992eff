import ipaddr from 'ipaddr.js'
import type { HeadgateError } from '../core/errors.js'
import { badOption } from '../core/options.js'
import { readGroups, readIPv4 } from './address.js'
import { embeddedIPv4 } from './embedded-ipv4.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = readonly [network: Address, length: number]

/** Names of ranges, those of proxy-addr and therefore of Express and Fastify. */
const namedRanges: Readonly<Record<string, readonly string[]>> = {
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  loopback: ['127.0.0.1/8', '::1/128'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']
}

/**
 * Compiles a list into a matcher over canonical addresses, to be asked before grouping. An entry is an IPv4 or IPv6
 * address; a range in CIDR notation, for IPv4 also with a netmask (`10.0.0.0/255.0.0.0`); one of the names `loopback`,
 * `linklocal` and `uniquelocal`; or `unix`, a peer on a Unix-domain socket. Ranges inside ::ffff:0:0/96,
 * 64:ff9b::/96 and 2002::/16 are ranges of IPv4, as such addresses are. An empty list matches nothing, and nothing matches
 * `'unknown'`.
 *
 * @param option name of the option that the list came from, for the message
 * @throws HeadgateError `HEADGATE_BAD_OPTION` naming option, entry and fix: text that is no address, ports, zones,
 * prefix lengths out of range, and /0, which is everybody
 * @example addressMatcher('allow', ['loopback', '2001:db8:1::/48'])('2001:db8:1::5') // true
 */
export function addressMatcher(option: string, entries: readonly string[]): (canonical: string) => boolean {
  if (!Array.isArray(entries)) throw badOption(option, entries, 'give a list of addresses and ranges')
  const ranges: Range[] = []
  let unix = false
  for (const entry of entries) {
    if (entry === 'unix') unix = true
    else for (const text of rangesNamed(entry)) ranges.push(readRange(option, text))
  }
  return function matches(canonical) {
    if (canonical === 'unix') return unix
    const address = readAddress(canonical)
    if (address === null) return false
    for (const range of ranges) {
      if (address.kind() === range[0].kind() && address.match(range[0], range[1])) return true
    }
    return false
  }
}

function rangesNamed(entry: string): readonly string[] {
  return Object.hasOwn(namedRanges, entry) ? namedRanges[entry]! : [entry]
}

function readRange(option: string, entry: unknown): Range {
  if (typeof entry !== 'string') throw badEntry(option, entry, 'not text')
  const slash = entry.indexOf('/')
  const network = readAddress(slash < 0 ? entry : entry.slice(0, slash))
  if (network === null) throw badEntry(option, entry, 'not an address or a range')
  const wide = entry.indexOf(':') >= 0
  const isIPv4 = network.kind() === 'ipv4'
  const longest = isIPv4 ? 32 : 128
  // The prefix length of an IPv4 range in IPv6 notation counts the bits before it, and in 6to4 those of the site behind.
  const is6to4 = wide && isIPv4 && entry.startsWith('2002:')
  const shift = is6to4 ? 16 : wide && isIPv4 ? 96 : 0
  const most = is6to4 ? 128 - shift : longest
  const length = slash < 0 ? longest : readLength(entry.slice(slash + 1), wide) - shift
  if (length >= 1 && length <= most) return [network, Math.min(length, longest)]
  throw badEntry(option, entry, `without a prefix length from ${shift + 1} to ${shift + most}`)
}

/** The prefix length in bits, NaN where the text is none. */
function readLength(text: string, wide: boolean): number {
  if (/^\d{1,3}$/.test(text)) return Number(text)
  if (wide || readIPv4(text, 0, text.length) < 0) return Number.NaN
  return ipaddr.IPv4.parse(text).prefixLengthFromSubnetMask() ?? Number.NaN
}

/**
 * Text is read by our own strict readers, ranges are matched by ipaddr.js: its parser takes `010.0.0.1` for 8.0.0.1
 * and `::192.0.2.1` for an IPv4-mapped address.
 */
function readAddress(text: string): Address | null {
  const groups = new Uint16Array(8)
  let bits = readIPv4(text, 0, text.length)
  if (bits < 0) {
    if (!readGroups(text, 0, text.length, groups)) return null
    bits = embeddedIPv4(groups)
    if (bits < 0) return new ipaddr.IPv6([...groups])
  }
  return new ipaddr.IPv4([bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255])
}

function badEntry(option: string, entry: unknown, fault: string): HeadgateError {
  const use =
    "use an IPv4 or IPv6 address, a range such as '10.0.0.0/8', 'loopback', 'linklocal', 'uniquelocal' or 'unix'"
  return badOption(option, entry, `it is ${fault}; ${use}`)
}
