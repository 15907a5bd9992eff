import type { HeadgateError } from '../core/errors.js'
import type { Connection } from './client.js'
import { absence, codeOf, failure, lateness } from './failure.js'
import { type Node, type NodeSettings, Nodes } from './nodes.js'
import type { Script } from './script.js'

/** What a link goes by. */
export interface LinkSettings extends NodeSettings {
  readonly deadlineMs: number
  /** Replaces the server's clock, in tests. */
  readonly clock: (() => number) | null
}

/** One script call: what it carries, and until when it may be carried out. */
interface Call {
  readonly node: Node
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** The server's time after which nothing is to be done, as digits. Clients keep the bytes, not a copy. */
  readonly ticket: Buffer
  /** When it is given up, on the monotonic clock. */
  readonly dueAt: number
  readonly resolve: (reply: readonly unknown[]) => void
  readonly reject: (error: HeadgateError) => void
  timer: NodeJS.Timeout | null
  wasSent: boolean
  isOver: boolean
  /** True while it brings a lost script back, and others wait for that. */
  isLoading: boolean
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
  readonly #nodes: Nodes
  readonly #calls = new Set<Call>()
  readonly #unlisten: () => void
  /** True after a call has waited in vain for a connection: others need not. */
  #isAway = false

  constructor(connection: Connection, settings: LinkSettings) {
    this.connection = connection
    this.#settings = settings
    this.#nodes = new Nodes(connection, settings)
    this.#unlisten = connection.listen(
      () => this.#sendWaiting(),
      () => this.#loseSent()
    )
  }

  /** True while no node is known to fail. */
  get isAvailable(): boolean {
    return this.#nodes.isAvailable
  }

  /** The node that serves a slot. */
  nodeOf(slot: number): Node {
    return this.#nodes.nodeOf(slot)
  }

  /** When what begins now is given up, on the monotonic clock. */
  dueAt(): number {
    return performance.now() + this.#settings.deadlineMs
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call(
    node: Node,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    dueAt = this.dueAt()
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const leftMs = dueAt - performance.now()
      // It has waited for others of its kind, not for the node.
      if (leftMs <= 0) return reject(lateness(this.#settings.deadlineMs, true))
      const ticket = Buffer.alloc(ticketDigits)
      const call: Call = {
        ...{ node, script, keys, args, ticket, dueAt, resolve, reject },
        ...{ timer: null, wasSent: false, isOver: false, isLoading: false, resends: 0 }
      }
      const isReady = this.connection.isReady()
      if (!isReady && this.#isAway) return this.#fail(call, absence())
      this.#calls.add(call)
      call.timer = setTimeout(() => this.#expire(call), leftMs)
      if (isReady) this.#send(call)
    })
  }

  close(): void {
    this.#unlisten()
  }

  #sendWaiting(): void {
    this.#isAway = false
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
      if (call.isOver) return
      if (!call.wasSent) this.#isAway = !this.connection.isReady()
      this.#fail(call, lateness(this.#settings.deadlineMs, call.wasSent))
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
      if (call.isOver) return
      this.#release(call)
      this.#read(call, reply as unknown[])
    } catch (error) {
      if (call.isOver) return
      this.#release(call)
      if (codeOf(error) === 'NOSCRIPT' && call.resends++ < mostResends) this.#reload(call)
      else this.#fail(call, failure(error))
    }
  }

  /** One call brings the script back, by being sent with its text; the others wait for that. */
  #reload(call: Call): void {
    const { node, script } = call
    const waiting = node.loading.get(script)
    if (waiting !== undefined) {
      waiting.push(() => {
        if (!call.isOver) this.#send(call)
      })
      return
    }
    node.loading.set(script, [])
    call.isLoading = true
    this.#evaluate(call, 'EVAL', script.text)
  }

  /** Lets go on what waits for the script that this call brings, whether it could or not. */
  #release(call: Call): void {
    if (!call.isLoading) return
    const { loading } = call.node
    const waiting = loading.get(call.script) ?? []
    call.isLoading = false
    loading.delete(call.script)
    for (const goOn of waiting) goOn()
  }

  #read(call: Call, reply: unknown[]): void {
    const { node } = call
    node.clockAhead = Number(reply[1]) - performance.now()
    if (Number(reply[0]) === 1) {
      this.#end(call)
      call.resolve(reply)
      this.#nodes.succeed(node)
    } else if (call.resends++ < mostResends) this.#send(call)
    else this.#fail(call, failure(new Error('the ticket has expired')))
  }

  #fail(call: Call, error: HeadgateError): void {
    this.#end(call)
    call.ticket.fill('0')
    call.reject(error)
    this.#nodes.fail(call.node, error)
  }

  #end(call: Call): void {
    call.isOver = true
    this.#calls.delete(call)
    if (call.timer !== null) clearTimeout(call.timer)
    this.#release(call)
  }

  /** Dates the ticket: to the end of the deadline on the server's clock, which is read in whole ms. */
  #stamp({ node, ticket, dueAt }: Call): void {
    if (this.#settings.clock !== null) ticket.fill('9')
    else {
      const until = Math.floor(dueAt + node.clockAhead) - 1
      ticket.write(String(until).padStart(ticketDigits, '0'), 'latin1')
    }
  }
}
