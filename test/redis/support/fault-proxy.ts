import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** The way of the bytes: `requests` from the client to the server, `replies` back. */
export type Way = 'requests' | 'replies'

/** What the faults have done so far. */
export interface Swallowed {
  /** Bytes of requests that no server got. */
  readonly requests: number
  /** Bytes of replies that no client got. */
  readonly replies: number
  /** Chunks that were held back, both ways. */
  readonly delayed: number
  /** Connections that were closed half. */
  readonly halfClosed: number
  /** Connections that were cut. */
  readonly cut: number
}

/** A proxy on the loopback whose faults are switched while it runs. It forwards bytes and knows nothing of Redis. */
export interface FaultProxy {
  readonly port: number
  /** How many clients are connected. */
  readonly connections: number
  readonly swallowed: Swallowed
  /** Ends all faults. A connection that lost bytes is out of step from then on: `cut` it, unless that is the test. */
  pass(): Promise<void>
  /** Swallows what goes this way. Dropped replies are those to requests that the server does execute. */
  drop(...ways: readonly Way[]): void
  /** Holds back what goes this way for so many ms; 0 ends it. The order stays. */
  delay(way: Way, duration: number): void
  /** Ends one side of all open connections, which go on the other way: the client's side sees no more replies. */
  halfClose(side: 'client' | 'server'): void
  /** Destroys all open connections (ECONNRESET); new ones pass. */
  cut(): void
  /** Refuses new connections (ECONNREFUSED) until `pass`; open ones go on. */
  refuse(): Promise<void>
  stop(): Promise<void>
}

/** Starts a proxy in front of a port. */
export async function startProxy(target: number): Promise<FaultProxy> {
  const proxy = new RunningProxy(target)
  await proxy.pass()
  return proxy
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

class RunningProxy implements FaultProxy {
  readonly swallowed = { requests: 0, replies: 0, delayed: 0, halfClosed: 0, cut: 0 }
  readonly #pairs = new Set<Pair>()
  readonly #dropped = new Set<Way>()
  readonly #delays: Record<Way, number> = { requests: 0, replies: 0 }
  #listener: Server | undefined
  #port = 0

  constructor(private readonly target: number) {}

  get port(): number {
    return this.#port
  }

  get connections(): number {
    return this.#pairs.size
  }

  async pass(): Promise<void> {
    this.#dropped.clear()
    this.#delays.requests = 0
    this.#delays.replies = 0
    if (this.#listener) return
    const listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
    this.#listener = listener
    await once(listener.listen(this.#port, '127.0.0.1'), 'listening')
    this.#port = (listener.address() as { port: number }).port
  }

  drop(...ways: readonly Way[]): void {
    for (const way of ways) this.#dropped.add(way)
  }

  delay(way: Way, duration: number): void {
    this.#delays[way] = duration
  }

  halfClose(side: 'client' | 'server'): void {
    for (const pair of this.#pairs) pair[side].end()
    this.swallowed.halfClosed += this.#pairs.size
  }

  cut(): void {
    this.swallowed.cut += this.#pairs.size
    for (const pair of this.#pairs) this.#destroy(pair)
  }

  async refuse(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    // Its handle is closed at once. Its `close` event would wait for the open connections.
    listener?.close()
  }

  async stop(): Promise<void> {
    await this.refuse()
    for (const pair of this.#pairs) this.#destroy(pair)
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true })
    const pair = { client, server }
    this.#pairs.add(pair)
    this.#forward('requests', client, server)
    this.#forward('replies', server, client)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => this.#destroy(pair))
      socket.on('close', () => this.#destroy(pair))
    }
  }

  #forward(way: Way, from: Socket, to: Socket): void {
    let last = Promise.resolve()
    const later = (send: () => void) => {
      const due = performance.now() + this.#delays[way]
      if (this.#delays[way] > 0) this.swallowed.delayed++
      last = last.then(() => waitUntil(due)).then(send)
    }
    from.on('data', (chunk) => {
      if (this.#dropped.has(way)) this.swallowed[way] += chunk.length
      else later(() => to.writable && to.write(chunk))
    })
    from.on('end', () => later(() => to.end()))
  }

  #destroy(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    // Not with an orderly end, which would leave a client that takes half-closed connections waiting.
    pair.client.resetAndDestroy()
    pair.server.destroy()
  }
}

async function waitUntil(due: number): Promise<void> {
  const duration = due - performance.now()
  if (duration > 0) await new Promise((go) => setTimeout(go, duration))
}
