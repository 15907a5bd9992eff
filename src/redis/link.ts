import type { HeadgateError } from '../core/errors.js'
import { Breaker, type BreakerSettings } from './breaker.js'
import type { Connection } from './client.js'
import { codeOf, failure, lateness } from './failure.js'
import type { Script } from './script.js'

/** What a link goes by. */
export interface LinkSettings {
  readonly deadlineMs: number
  readonly breaker: BreakerSettings
  /** Replaces the server's clock, in tests. */
  readonly clock: (() => number) | null
  /** Told when a node begins to fail, and (without an error) when it works again. */
  readonly onChange: (node: Node, error?: HeadgateError) => void
}

/** A server, as its link knows it. */
export class Node {
  readonly breaker: Breaker
  readonly label: string
  /** The server's clock less the monotonic one of this process, as the last reply had it; null before the first. */
  clockAhead: number | null = null
  /** Settles when a script that the server had lost is there again. */
  loading: Promise<unknown> | null = null

  constructor(label: string, settings: BreakerSettings) {
    this.label = label
    this.breaker = new Breaker(settings)
  }
}

/** One script call: what it carries, and until when it may be carried out. */
interface Call {
  readonly node: Node
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** The server's time after which nothing is to be done, as digits. Clients keep the bytes, not a copy. */
  readonly ticket: Buffer
  readonly resolve: (reply: readonly unknown[]) => void
  readonly reject: (error: HeadgateError) => void
  timer: NodeJS.Timeout | null
  wasSent: boolean
  isOver: boolean
  resends: number
}

/** Digits of a ticket; those of all nines never expire. */
const ticketDigits = 16

/** How often a call that the server has not carried out is sent again: for a lost script, and for a ticket. */
const mostResends = 3

/**
 * Calls scripts, each within the deadline. What is given up is never carried out later: clients queue commands
 * while they have no connection, and may send them again after a lost reply, but the script refuses a ticket that has
 * expired, and the ticket of a call that is over is torn up in the client's own copy of the command.
 */
export class Link {
  readonly connection: Connection
  readonly #settings: LinkSettings
  readonly #nodes = new Map<string, Node>()
  readonly #calls = new Set<Call>()
  readonly #unlisten: () => void

  constructor(connection: Connection, settings: LinkSettings) {
    this.connection = connection
    this.#settings = settings
    this.#unlisten = connection.listen(
      () => this.#sendWaiting(),
      () => this.#loseSent()
    )
  }

  /** True while no node is known to fail. */
  get isAvailable(): boolean {
    for (const node of this.#nodes.values()) if (node.breaker.isOpen) return false
    return true
  }

  /** The node that serves a slot. */
  nodeOf(slot: number): Node {
    const label = this.connection.nodeOf(slot)
    let node = this.#nodes.get(label)
    if (node === undefined) {
      node = new Node(label, this.#settings.breaker)
      this.#nodes.set(label, node)
    }
    return node
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call(
    node: Node,
    script: Script,
    keys: readonly string[],
    args: readonly string[]
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const ticket = Buffer.alloc(ticketDigits)
      const call: Call = {
        ...{ node, script, keys, args, ticket, resolve, reject },
        ...{ timer: null, wasSent: false, isOver: false, resends: 0 }
      }
      this.#calls.add(call)
      call.timer = setTimeout(() => this.#expire(call), this.#settings.deadlineMs)
      if (this.connection.isReady()) this.#send(call)
    })
  }

  close(): void {
    this.#unlisten()
  }

  #sendWaiting(): void {
    for (const call of this.#calls) if (!call.wasSent) this.#send(call)
  }

  /** What was sent on a connection that is gone may or may not have been done. */
  #loseSent(): void {
    for (const call of this.#calls)
      if (call.wasSent) this.#fail(call, failure(new Error('the connection was lost')))
  }

  /** A process that was busy past the deadline may have the reply at hand: it is given one turn to be read. */
  #expire(call: Call): void {
    setImmediate(() => {
      if (!call.isOver) this.#fail(call, lateness(this.#settings.deadlineMs, call.wasSent))
    })
  }

  #send(call: Call): void {
    call.wasSent = true
    this.#stamp(call)
    this.#evaluate(call, 'EVALSHA', call.script.sha)
  }

  async #evaluate(call: Call, command: 'EVALSHA' | 'EVAL', script: string): Promise<void> {
    const { keys, args, ticket } = call
    const clock = this.#settings.clock === null ? '' : String(this.#settings.clock())
    try {
      const whole = [command, script, String(keys.length), ...keys, ticket, clock, ...args]
      const reply = await this.connection.send(whole, keys[0]!)
      if (!call.isOver) this.#read(call, reply as unknown[])
    } catch (error) {
      if (call.isOver) return
      if (codeOf(error) === 'NOSCRIPT' && call.resends++ < mostResends) await this.#reload(call)
      else this.#fail(call, failure(error))
    }
  }

  /** One call brings the script back, by being sent with its text; the others wait for that. */
  async #reload(call: Call): Promise<void> {
    const { node, script } = call
    if (node.loading !== null) {
      await node.loading
      if (!call.isOver) this.#send(call)
      return
    }
    node.loading = this.#evaluate(call, 'EVAL', script.text)
    await node.loading
    node.loading = null
  }

  #read(call: Call, reply: unknown[]): void {
    const { node } = call
    node.clockAhead = Number(reply[1]) - performance.now()
    if (Number(reply[0]) === 1) {
      this.#end(call)
      if (node.breaker.succeed()) this.#settings.onChange(node)
      call.resolve(reply)
    } else if (call.resends++ < mostResends) this.#send(call)
    else this.#fail(call, failure(new Error('the ticket has expired')))
  }

  #fail(call: Call, error: HeadgateError): void {
    this.#end(call)
    call.ticket.fill('0')
    if (call.node.breaker.fail()) this.#settings.onChange(call.node, error)
    call.reject(error)
  }

  #end(call: Call): void {
    call.isOver = true
    this.#calls.delete(call)
    if (call.timer !== null) clearTimeout(call.timer)
  }

  /** Dates the ticket: to the deadline on the server's clock, which is not known before its first reply. */
  #stamp({ node, ticket }: Call): void {
    const ahead = this.#settings.clock === null ? node.clockAhead : null
    if (ahead === null) ticket.fill('9')
    else {
      const until = Math.ceil(performance.now() + ahead) + this.#settings.deadlineMs
      ticket.write(String(until).padStart(ticketDigits, '0'), 'latin1')
    }
  }
}
