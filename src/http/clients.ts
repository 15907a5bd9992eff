import { type Client, clientOf, peerOf } from './client-address.js'
import type { ForwardedSource } from './forwarded.js'
import type { Host } from './host.js'
import { ProxyWatch } from './warnings.js'

/** Finds the clients of one gate's requests, and says what is wrong with how they reach it. */
export class Clients {
  readonly #source: ForwardedSource
  readonly #watch = new ProxyWatch()

  /** @param source the header in which proxies report them */
  constructor(source: ForwardedSource) {
    this.#source = source
  }

  of<Req>(host: Host<Req, never>, request: Req): Client {
    const source = this.#source
    const field = host.header(request, source)
    const socket = host.socket(request)
    let client: Client
    if (field === undefined) client = peerOf(socket)
    else {
      const trust = host.trust(request)
      this.#watch.see(host.trustOption, trust, host.trustSetting(request), socket)
      client = clientOf({ socket, field, source, trust, ip: () => host.ip(request) })
    }
    if (client.standing === 'unreadable' || client.address === 'unix') this.#watch.missAddress(client)
    return client
  }
}
