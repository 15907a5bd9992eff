import { shown } from '../core/options.js'
import { warnOnce } from '../core/warn.js'
import type { Call } from '../remote/backend.js'
import { reasonOf } from '../remote/failure.js'
import type { Connection } from './clients/connection.js'
import { Eviction } from './eviction.js'
import { absence, failure, isUnderstood, lacksScript } from './failure.js'
import { LostScripts } from './lost-scripts.js'
import type { Script } from './scripts/script.js'
import { Sending } from './sending.js'
import { Unanswered } from './unanswered.js'

/** How often a call that the server has not carried out is sent again: for a lost script, and for a ticket. */
const mostResends = 3

const transaction =
  'A transaction (`MULTI`) is open on the Redis client, and decisions got into it: each counts as failed, and is carried out by `EXEC` all the same. Use a pipelined `multi()`, or give limits a client of their own.'

/**
 * Calls scripts through a client. What is given up is never carried out later: each call carries a ticket, which names
 * the instant on the server's clock after which the script refuses it, and which is spent in the client's own copy of
 * the command once the call is over.
 */
export class Link {
  readonly connection: Connection
  /** Replaces the server's clock, in tests. */
  readonly #clock: (() => number) | null
  readonly #sendings = new Set<Sending>()
  readonly #lostScripts = new LostScripts()
  readonly #unanswered = new Unanswered()
  /** Scripts that were answered, or brought to the server without its having said that it lacks them. */
  readonly #known = new WeakSet<Script>()
  readonly #eviction: Eviction
  readonly #unlisten: () => void
  /** True after a call has waited in vain for a connection: others need not. */
  #isAway = false
  /** Why there is no connection. */
  #reason: string | null = null

  constructor(connection: Connection, clock: (() => number) | null) {
    this.connection = connection
    this.#eviction = new Eviction(connection)
    this.#clock = clock
    this.#unlisten = connection.listen({
      ready: () => this.#sendWaiting(),
      lost: () => this.#loseSent(),
      failed: (error) => this.#explain(error)
    })
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call(
    call: Call,
    script: Script,
    keys: readonly string[],
    args: readonly string[]
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const sending = new Sending(call, script, keys, args, resolve, reject)
      const isReady = this.connection.isReady()
      if (!isReady && this.#isAway) return reject(absence(this.#reason))
      if (this.#unanswered.areTooMany(call.node)) return reject(this.#unanswered.error())
      this.#sendings.add(sending)
      call.waitsForConnection = true
      call.connectionError = this.#reason
      call.onGivenUp = () => this.#giveUp(sending)
      if (isReady) this.#send(sending)
    })
  }

  close(): void {
    this.#unlisten()
  }

  #sendWaiting(): void {
    this.#isAway = false
    this.#reason = null
    for (const sending of this.#sendings) if (!sending.wasSent) this.#send(sending)
  }

  /** What was sent on a connection that is gone may or may not have been done. */
  #loseSent(): void {
    for (const sending of this.#sendings)
      if (sending.wasSent) this.#fail(sending, failure(new Error('the connection was lost')))
  }

  #explain(error: unknown): void {
    this.#reason = reasonOf(error)
    for (const { call, wasSent } of this.#sendings) if (!wasSent) call.connectionError = this.#reason
  }

  #giveUp(sending: Sending): void {
    if (sending.wasSent) this.#unanswered.add(sending, sending.call.node)
    else this.#isAway = !this.connection.isReady()
    this.#end(sending)
  }

  #send(sending: Sending): void {
    sending.wasSent = true
    sending.call.waitsForConnection = false
    this.#evaluate(sending, 'EVALSHA', sending.script.sha)
  }

  #evaluate(sending: Sending, command: 'EVALSHA' | 'EVAL', name: string): void {
    const { call, script } = sending
    sending.write(command, name, String(this.#clock === null ? call.expiresAt : this.#clock()))
    this.#sent(sending).then(
      (reply) => {
        this.#unanswered.settle(sending)
        if (sending.isOver) return
        this.#release(sending)
        this.#known.add(script)
        this.#read(sending, reply)
      },
      (error) => {
        this.#unanswered.settle(sending)
        if (sending.isOver) return
        this.#release(sending)
        if (this.#isLost(sending, command, error)) this.#reload(sending)
        else this.#fail(sending, failure(error, script))
      }
    )
  }

  /**
   * True if the server lacks the script. Clients word that in ways of their own: what nobody understands about the first
   * call of a script is taken for it, once.
   */
  #isLost(sending: Sending, command: string, error: unknown): boolean {
    if (command !== 'EVALSHA' || sending.resends >= mostResends) return false
    const isLost = lacksScript(error) || (!this.#known.has(sending.script) && !isUnderstood(error))
    if (!isLost) return false
    this.#known.add(sending.script)
    sending.resends++
    return true
  }

  #sent({ words, keys, ticketAt }: Sending): Promise<unknown> {
    try {
      return this.connection.sendCall(words, keys[0]!, ticketAt)
    } catch (error) {
      return Promise.reject(error)
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

  #read(sending: Sending, reply: unknown): void {
    if (!Array.isArray(reply) || reply.length < 2) {
      this.#fail(sending, failure(new Error(`the reply is ${shown(reply)}, and none of a script`)))
      if (reply === 'QUEUED') warnOnce('HEADGATE_TRANSACTION', transaction)
      return
    }
    sending.call.tellTime(Number(reply[1]))
    if (sending.isOver) return
    if (Number(reply[0]) === 1) {
      this.#end(sending)
      sending.resolve(reply)
      this.#eviction.look()
    } else if (sending.isSpent) this.#fail(sending, failure(new Error('the connection was lost')))
    else if (sending.resends++ < mostResends) this.#send(sending)
    else this.#fail(sending, failure(new Error('the ticket has expired')))
  }

  #fail(sending: Sending, error: Error): void {
    this.#end(sending)
    sending.reject(error)
  }

  #end(sending: Sending): void {
    sending.isOver = true
    this.#sendings.delete(sending)
    this.#release(sending)
    sending.spend()
  }
}
