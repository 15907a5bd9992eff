import type { Policy } from '../../core/policy.js'
import type { Verdict } from '../../core/verdict.js'

/** Where the verdicts of a reply begin: what is before them, server-time.lua says. */
const begin = 2

/** Reads the verdicts of a reply one after the other: see lua/main.lua. */
export class ReplyReader {
  readonly #reply: readonly unknown[]
  readonly #now: number
  #next = begin

  constructor(reply: readonly unknown[]) {
    this.#reply = reply
    this.#now = Number(reply[1])
  }

  verdict(policies: readonly Policy[], cost: number): Verdict {
    const flags = Number(this.#reply[this.#next++])
    const isAllowed = (flags & 1) === 1
    const charged = (flags & 4) === 4 ? Number(this.#reply[this.#next++]) : isAllowed ? cost : 0
    const out: number[] = []
    for (const { shapes } of policies) {
      const remaining = this.#number()
      const retryAfterMs = isAllowed ? 0 : this.#number()
      const resetMs = this.#number()
      out.push(remaining, retryAfterMs, resetMs, isAllowed && shapes ? this.#number() : 0)
    }
    return { isAllowed, isBlocked: (flags & 2) === 2, charged, at: this.#now, source: 'store', policies, out }
  }

  /** Some clients are set to give numbers as text; -1 is infinity, which the protocol has no integer for. */
  #number(): number {
    const number = Number(this.#reply[this.#next++])
    return number === -1 ? Number.POSITIVE_INFINITY : number
  }
}
