import { warnOnce } from '../core/warn.js'
import type { Client, PeerSocket, TrustedHops } from './client-address.js'

const { Socket } = process.getBuiltinModule('node:net')

/** An address of a documentation range (RFC 5737): trusted only by settings that trust whoever it is. */
const stranger = '192.0.2.1'
/** More of them than any chain of proxies is long. */
const strangers = Array<string>(1000).fill(stranger)

/** Why a request has no address of its own, by what stands in for it. */
const reasons = new Map([
  ['unix', 'over a Unix socket'],
  ['unknown', 'its connection is gone, or the forwarding header cannot be read']
])

/**
 * Looks at how clients reach a limiter that counts by address, and says what is wrong with it, whenever it first shows:
 * once a process for each setting.
 */
export class ProxyWatch {
  /** Settings do not change while a server runs, so the first request that carries a header tells all. */
  readonly #seen = new Set<string>()
  readonly #missed = new Set<string>()

  /**
   * A request from `peer` that carries a forwarding header; `setting` is that of the framework's `option`, where it shows
   * it. Where the peer is no socket, as in serverless functions and injected requests, an adapter has put the client's own
   * address there, and no proxy stands in between.
   */
  see(
    option: string,
    trust: TrustedHops | null,
    setting: unknown,
    peer: PeerSocket | null | undefined
  ): void {
    if (this.#seen.has(option) || !isSocket(peer)) return
    this.#seen.add(option)
    if (isDigits(setting)) warnOnce('HEADGATE_TRUST_BY_COUNT', digitsHint(option, setting))
    else if (trust === null) warnOnce('HEADGATE_UNTRUSTED_PROXY', untrustedHint(option))
    else if (trust([stranger]) === 1) {
      if (trust(strangers) === strangers.length) warnOnce('HEADGATE_TRUSTS_ANYBODY', anybodyHint(option))
      else warnOnce('HEADGATE_TRUST_BY_COUNT', hopsHint(option))
    }
  }

  /** A request that is charged to what stands in for an address of its own. */
  missAddress({ address }: Client): void {
    const reason = reasons.get(address) ?? 'its proxy reports something that is no address'
    if (this.#missed.has(reason)) return
    this.#missed.add(reason)
    warnOnce(
      'HEADGATE_NO_ADDRESS',
      `A request came without a client address (${reason}): all such requests share the key '${address}'.`
    )
  }
}

function isSocket(peer: PeerSocket | null | undefined): boolean {
  try {
    return peer instanceof Socket
  } catch {
    // The socket of an HTTP/2 session throws once it is unbound.
    return false
  }
}

/** True for a number written as a text, which no framework reads as one. */
export function isDigits(setting: unknown): setting is string {
  return typeof setting === 'string' && /^\s*\d+\s*$/.test(setting)
}

/** What a proxy setting of digits does. */
export function digitsHint(option: string, setting: string): string {
  return (
    `\`${option}\` is the text '${setting}', which is read as an address and trusts nobody: all clients behind a proxy ` +
    `share the proxy's address. ${advice(option)}`
  )
}

function untrustedHint(option: string): string {
  return (
    `A request carries X-Forwarded-For or Forwarded, but \`${option}\` trusts no proxy, so the header is ignored. If a ` +
    `proxy stands in front of this server, all its clients share one address. ${advice(option)}`
  )
}

function anybodyHint(option: string): string {
  return (
    `\`${option}\` trusts every address, so clients choose their own by a header and no limit by address holds. ` +
    advice(option)
  )
}

function hopsHint(option: string): string {
  return (
    `\`${option}\` counts hops without looking at who they are: a client that reaches this server past the proxy chooses ` +
    `its own address by a header. ${advice(option)}`
  )
}

/** What to set instead. */
export function advice(option: string): string {
  return `Set \`${option}\` to the addresses of your proxies, such as ['127.0.0.1', '10.0.0.0/8'].`
}
