import type { Call } from '../remote/backend.js'
import { spentTicket } from './clients/connection.js'
import type { Script } from './scripts/script.js'

/** The words of a script call before its keys. */
const headWords = 3

/** One script call on its way. */
export class Sending {
  /** The command that was sent last: clients read its ticket when they write it. */
  words: string[] = []
  wasSent = false
  isOver = false
  /** True while it brings a lost script back, and others wait for that. */
  isLoading = false
  resends = 0

  constructor(
    readonly call: Call,
    readonly script: Script,
    readonly keys: readonly string[],
    readonly args: readonly string[],
    readonly resolve: (reply: readonly unknown[]) => void,
    readonly reject: (error: Error) => void
  ) {}

  /** Where the ticket is. */
  get ticketAt(): number {
    return headWords + this.keys.length
  }

  /** Puts its words together. */
  write(command: 'EVALSHA' | 'EVAL', script: string, ticket: string): void {
    this.words = [command, script, String(this.keys.length), ...this.keys, ticket, ...this.args]
  }

  /** Sees that what was not written yet, or is written again, changes nothing. */
  spend(): void {
    if (this.words.length > 0) this.words[this.ticketAt] = spentTicket
  }

  /** True if that was done, by this or by the client, which did not know what had become of it. */
  get isSpent(): boolean {
    return this.words[this.ticketAt] === spentTicket
  }
}
