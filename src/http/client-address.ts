import { canonicalAddress } from './address.js'
import { type FieldValue, type ForwardedSource, forwardedEntries } from './forwarded.js'

/**
 * The trust setting of the framework: whether the hop at this address is one of one's own proxies. `address` is
 * canonical, or `'unix'` for a peer on a Unix-domain socket; `hop` counts from the peer, 0.
 */
export type TrustFunction = (address: string, hop: number) => boolean

/** What is read of a socket. */
export interface PeerSocket {
  readonly remoteAddress?: string | undefined
  /** Node's `socket.server`: its `address()` is a text where it listens on a Unix-domain socket. */
  readonly server?: { address(): unknown } | undefined
}

/**
 * The address to charge: the peer of the connection or, where trusted proxies name another, the first address from
 * the right that is not trusted. An entry that is no address leaves the hop that reported it; where all are trusted
 * it is the leftmost of the 32 nearest. No other header is consulted.
 *
 * @param trust null where no proxy is trusted: then the field is not read at all. What it throws is passed on, but
 * for the peer `'unix'`, which a function made for IP addresses may not know: there it means not trusted
 * @returns canonical address text; `'unix'`; or `'unknown'` where the connection is already gone. An unknown peer
 * vouches for nothing, so the field is not read then either
 */
export function clientAddress(
  socket: PeerSocket | undefined | null,
  headerValue: FieldValue,
  source: ForwardedSource,
  trust: TrustFunction | null
): string {
  let client = peerAddress(socket)
  if (trust === null || !headerValue || client === 'unknown' || !trustsPeer(trust, client)) return client
  const entries = forwardedEntries(headerValue, source)
  for (let hop = 0; hop < entries.length; hop++) {
    if (hop > 0 && !trust(client, hop)) break
    const next = canonicalAddress(entries[hop]!)
    if (next === null) break
    client = next
  }
  return client
}

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

function trustsPeer(trust: TrustFunction, peer: string): boolean {
  if (peer !== 'unix') return trust(peer, 0)
  try {
    return trust(peer, 0)
  } catch {
    return false
  }
}
