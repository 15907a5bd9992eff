import type { Client } from './client-address.js'
import { nobody } from './client-address.js'
import type { Host } from './host.js'
import { headerText, userOf } from './key.js'
import { comparablePath } from './path.js'

/** What rules ask of a request. Each is read when it is first asked for. One object serves all requests of a gate. */
export class RequestFacts {
  #host!: Host<unknown, never>
  #request: unknown = null
  #client: Client = nobody
  #path: string | undefined
  #segments: readonly string[] | undefined

  /** Turns to another request. */
  of<Req>(host: Host<Req, never>, request: Req, client: Client): this {
    this.#host = host as Host<unknown, never>
    this.#request = request
    this.#client = client
    this.#path = undefined
    this.#segments = undefined
    return this
  }

  get method(): string {
    return this.#host.method(this.#request)
  }

  /** In the form of `comparablePath`; empty where a call has none. */
  get path(): string {
    this.#path ??= comparablePath(this.#host.url?.(this.#request) ?? '')
    return this.#path
  }

  /** What stands between the slashes of the path. */
  get segments(): readonly string[] {
    this.#segments ??= this.path.length < 2 ? [] : this.path.slice(1).split('/')
    return this.#segments
  }

  /** The template of its route; null where it has none, undefined where that is not known yet. */
  get route(): string | null | undefined {
    return this.#host.route?.(this.#request)
  }

  /** A field by its lower-case name; undefined where it is missing or empty. */
  header(name: string): string | undefined {
    return headerText(this.#host.header(this.#request, name))
  }

  /** Who is logged in. Where nobody is, some leave `request.user` false or empty. */
  get user(): string | undefined {
    const { user } = this.#request as { user?: unknown }
    if (user === false || user === '') return undefined
    return userOf(this.#request)
  }

  /** The client's own address; null where it is not known. */
  get address(): string | null {
    return this.#client.standing === 'client' ? this.#client.address : null
  }
}
