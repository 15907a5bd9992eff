import { canonicalAddress } from './address.js'
import { type FieldValue, type ForwardedSource, forwardedEntries, namesNobody } from './forwarded.js'

const { isIP } = process.getBuiltinModule('node:net')

/** An address as a socket or a field gives it; undefined for a peer on a Unix-domain socket. */
export type Hop = string | undefined

/**
 * The trust setting of the framework: how many of these hops, from the first on, are proxies of one's own. The first is
 * the peer of the connection.
 */
export type TrustedHops = (hops: readonly Hop[]) => number

/** That setting where it is a function which is asked about each hop in turn. */
export function hopByHop(trusts: (hop: Hop, index: number) => unknown): TrustedHops {
  return (hops) => {
    const first = hops.findIndex((hop, index) => !trusts(hop, index))
    return first < 0 ? hops.length : first
  }
}

/** What is read of a socket. */
export interface PeerSocket {
  readonly remoteAddress?: string | undefined
  /** Node's `socket.server`: its `address()` is a text where it listens on a Unix-domain socket. */
  readonly server?: { address(): unknown } | undefined
}

/** Who a request comes from. */
export interface Client {
  /** Whom to charge: canonical address text; `'unix'`; or `'unknown'`, where nobody can be named. */
  readonly address: string
  /**
   * `'client'`: the address is the client's own. Otherwise it is that of the proxy which reported the client:
   * `'hidden'` if the proxy names nobody, `'unreadable'` if what it says cannot be read. The client is not the proxy
   * then, and has none of its privileges. A request without any address is unreadable too.
   */
  readonly standing: 'client' | 'hidden' | 'unreadable'
}

/** What tells who a request comes from. */
export interface Report {
  readonly socket: PeerSocket | undefined | null
  /** The header that proxies report clients in. */
  readonly field: FieldValue
  readonly source: ForwardedSource
  /** null where no proxy is trusted: then the field is not read at all. */
  readonly trust: TrustedHops | null
  /** The framework's own word on the client by X-Forwarded-For, as `request.ip`. */
  readonly ip?: (() => unknown) | undefined
}

/**
 * The peer of the connection or, where trusted proxies name another, the first address from the right that is not
 * trusted; where all are trusted, the leftmost of the 32 nearest. Of X-Forwarded-For the framework's own word holds
 * wherever it is an address, and trust is asked of the very texts that the framework asks about. No other header is
 * consulted.
 *
 * What the trust setting throws is passed on, but for a peer on a Unix-domain socket, which a function made for
 * addresses may not know: there it means not trusted. A peer without an address vouches for nothing.
 */
export function clientOf(report: Report): Client {
  const { socket, field, trust } = report
  const peer = peerOf(socket)
  if (peer === nobody || trust === null || !field) return peer
  if (peer.address !== 'unix') return reported(report, peer.address, trust)
  try {
    return reported(report, peer.address, trust)
  } catch {
    return peer
  }
}

/** The peer of a connection, as the client. */
export function peerOf(socket: PeerSocket | undefined | null): Client {
  const address = peerAddress(socket)
  return address === 'unknown' ? nobody : { address, standing: 'client' }
}

/** A request that cannot be said to come from anybody. */
export const nobody: Client = { address: 'unknown', standing: 'unreadable' }

/** The peer's canonical address, `'unix'` on a Unix-domain listener, `'unknown'` where it has none. Never throws. */
export function peerAddress(socket: PeerSocket | undefined | null): string {
  try {
    const text = socket?.remoteAddress
    const address = typeof text === 'string' ? canonicalAddress(text) : null
    if (address !== null) return address
    return typeof socket?.server?.address() === 'string' ? 'unix' : 'unknown'
  } catch {
    // The socket of an HTTP/2 session throws once it is unbound, server.address() when its handle fails.
    return 'unknown'
  }
}

function reported({ socket, field, source, ip }: Report, peer: string, trust: TrustedHops): Client {
  const named = source === 'x-forwarded-for' ? readIP(ip?.()) : null
  if (named !== null) return { address: named, standing: 'client' }
  const hops: Hop[] = [peer === 'unix' ? undefined : socket!.remoteAddress]
  const addresses = [peer]
  const entries = forwardedEntries(field, source)
  for (const entry of entries) {
    const address = entry === null ? null : canonicalAddress(entry)
    if (address === null) break
    hops.push(isIP(entry!) === 0 ? address : entry!)
    addresses.push(address)
  }
  const trusted = trust(hops)
  if (trusted < hops.length) return { address: addresses[trusted]!, standing: 'client' }
  const reporter = addresses.at(-1)!
  if (entries.length < hops.length) return { address: reporter, standing: 'client' }
  const odd = entries[hops.length - 1]!
  // A field of which nothing can be read may be the client's own work: the proxy has not vouched for anybody.
  if (odd === null && hops.length === 1) return nobody
  return { address: reporter, standing: odd !== null && namesNobody(odd) ? 'hidden' : 'unreadable' }
}

/** What the framework says of the client, where it is an address. */
function readIP(value: unknown): string | null {
  return typeof value === 'string' && isIP(value) !== 0 ? canonicalAddress(value) : null
}
