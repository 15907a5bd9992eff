import type { Call } from '../remote/backend.js'
import type { Connection } from './client.js'
import { absence, codeOf, failure } from './failure.js'
import { LostScripts } from './lost-scripts.js'
import type { Script } from './script.js'
import { Ticket } from './ticket.js'

/** One script call on its way. */
interface Sending {
  readonly call: Call
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly ticket: Ticket
  readonly resolve: (reply: readonly unknown[]) => void
  readonly reject: (error: Error) => void
  wasSent: boolean
  isOver: boolean
  /** True while it brings a lost script back, and others wait for that. */
  isLoading: boolean
  resends: number
}

/** How often a call that the server has not carried out is sent again: for a lost script, and for a ticket. */
const mostResends = 3

/**
 * Calls scripts through a client. What is given up is never carried out later: the script refuses a ticket that has
 * expired, and the ticket of a call that is over is overwritten in the client's own copy of the command.
 */
export class Link {
  readonly connection: Connection
  /** Replaces the server's clock, in tests. */
  readonly #clock: (() => number) | null
  readonly #sendings = new Set<Sending>()
  readonly #lostScripts = new LostScripts()
  readonly #unlisten: () => void
  /** True after a call has waited in vain for a connection: others need not. */
  #isAway = false

  constructor(connection: Connection, clock: (() => number) | null) {
    this.connection = connection
    this.#clock = clock
    this.#unlisten = connection.listen(
      () => this.#sendWaiting(),
      () => this.#loseSent()
    )
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call(
    call: Call,
    script: Script,
    keys: readonly string[],
    args: readonly string[]
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const sending: Sending = {
        ...{ call, script, keys, args, ticket: new Ticket(), resolve, reject },
        ...{ wasSent: false, isOver: false, isLoading: false, resends: 0 }
      }
      const isReady = this.connection.isReady()
      if (!isReady && this.#isAway) return reject(absence())
      this.#sendings.add(sending)
      call.waitsForConnection = true
      call.onGivenUp = () => this.#giveUp(sending)
      if (isReady) this.#send(sending)
    })
  }

  close(): void {
    this.#unlisten()
  }

  #sendWaiting(): void {
    this.#isAway = false
    for (const sending of this.#sendings) if (!sending.wasSent) this.#send(sending)
  }

  /** What was sent on a connection that is gone may or may not have been done. */
  #loseSent(): void {
    for (const sending of this.#sendings)
      if (sending.wasSent) this.#fail(sending, failure(new Error('the connection was lost')))
  }

  #giveUp(sending: Sending): void {
    if (!sending.wasSent) this.#isAway = !this.connection.isReady()
    this.#end(sending)
    sending.ticket.invalidate()
  }

  #send(sending: Sending): void {
    const { call, ticket } = sending
    sending.wasSent = true
    call.waitsForConnection = false
    if (this.#clock === null) ticket.stamp(call.expiresAt)
    else ticket.stampForever()
    this.#evaluate(sending, 'EVALSHA', sending.script.sha)
  }

  async #evaluate(sending: Sending, command: 'EVALSHA' | 'EVAL', script: string): Promise<void> {
    const { keys, args, ticket } = sending
    const clock = this.#clock === null ? '' : String(this.#clock())
    try {
      const whole = [command, script, String(keys.length), ...keys, ticket.bytes, clock, ...args]
      const reply = await this.connection.send(whole, keys[0]!)
      if (sending.isOver) return
      this.#release(sending)
      this.#read(sending, reply as unknown[])
    } catch (error) {
      if (sending.isOver) return
      this.#release(sending)
      if (codeOf(error) === 'NOSCRIPT' && sending.resends++ < mostResends) this.#reload(sending)
      else this.#fail(sending, failure(error))
    }
  }

  /** One call brings the script back, by being sent with its text; the others wait for that. */
  #reload(sending: Sending): void {
    const { call, script } = sending
    const goOn = () => {
      if (!sending.isOver) this.#send(sending)
    }
    if (this.#lostScripts.waitFor(call.node, script, goOn)) return
    sending.isLoading = true
    this.#evaluate(sending, 'EVAL', script.text)
  }

  #release(sending: Sending): void {
    if (!sending.isLoading) return
    sending.isLoading = false
    this.#lostScripts.loaded(sending.call.node, sending.script)
  }

  #read(sending: Sending, reply: unknown[]): void {
    sending.call.tellTime(Number(reply[1]))
    if (Number(reply[0]) === 1) {
      this.#end(sending)
      sending.resolve(reply)
    } else if (sending.resends++ < mostResends) this.#send(sending)
    else this.#fail(sending, failure(new Error('the ticket has expired')))
  }

  #fail(sending: Sending, error: Error): void {
    this.#end(sending)
    sending.ticket.invalidate()
    sending.reject(error)
  }

  #end(sending: Sending): void {
    sending.isOver = true
    this.#sendings.delete(sending)
    this.#release(sending)
  }
}
