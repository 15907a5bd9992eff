import type { TrustFunction } from './client-address.js'

/** Says something once about one limiter, as a process warning. */
export function warn(code: string, message: string): void {
  process.emitWarning(message, { type: 'HeadgateWarning', code })
}

/** An address of a documentation range (RFC 5737), which no setting but "everybody" trusts. */
const stranger = '192.0.2.1'

/**
 * Looks at how clients reach a limiter that counts by address, and says once what is wrong with it, whenever it
 * first shows.
 */
export class ProxyWatch {
  readonly #option: string
  #saidUntrusted = false
  #saidTrustAll = false

  constructor(trustOption: string) {
    this.#option = trustOption
  }

  /** A request that carries a forwarding header. */
  see(trust: TrustFunction | null): void {
    if (trust === null) this.#untrusted()
    else if (!this.#saidTrustAll && trust(stranger, 0) && trust(stranger, 32)) this.#trustAll()
  }

  #untrusted(): void {
    if (this.#saidUntrusted) return
    this.#saidUntrusted = true
    warn(
      'HEADGATE_UNTRUSTED_PROXY',
      `A request carries X-Forwarded-For or Forwarded, but \`${this.#option}\` trusts no proxy: the header is ignored and ` +
        'everybody behind a proxy shares one address. If a proxy stands in front of this server, set ' +
        `\`${this.#option}\` to its addresses; if not, ignore this.`
    )
  }

  #trustAll(): void {
    this.#saidTrustAll = true
    warn(
      'HEADGATE_TRUSTS_ANYBODY',
      `\`${this.#option}\` trusts every address, so clients choose their own by a header and no limit by address ` +
        "holds: set it to your proxies' addresses, such as 'loopback' or ['10.0.0.0/8']."
    )
  }
}
