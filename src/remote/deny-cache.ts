import type { Reading } from '../core/async-store.js'
import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import type { Reply } from '../redis/reply.js'

/** Denials that are kept; the oldest make room. */
const mostDenials = 10_000

interface Denial {
  readonly reply: Reply
  readonly cost: number
  readonly policies: readonly Policy[]
  /** When the request is admitted at the earliest, on the monotonic clock. */
  readonly until: number
  /** When the reply came. */
  readonly heardAt: number
}

/** Remembers who is denied, and until when, so that the store need not be asked again before. */
export class Denials {
  readonly #longestMs: number
  readonly #denials = new Map<string, Denial>()

  constructor(longestMs: number) {
    this.#longestMs = longestMs
  }

  /**
   * Takes an answer, of which a denial is kept, that was asked for at `askedAt`: the store decided no earlier than that, so what it waits for comes
   * no earlier than so long after it, less the part of a millisecond that its clock leaves out.
   */
  add(key: string, cost: number, policies: readonly Policy[], askedAt: number, reply: Reply): void {
    if (reply.verdict === Verdict.admitted) {
      // What is known of another cost was true before this one was charged.
      this.#denials.delete(key)
      return
    }
    const waits = policies.map((_, i) => reply.answers[i * answerSize + Answer.retryAfterMs]!)
    const until = askedAt + Math.min(Math.max(...waits) - 1, this.#longestMs)
    this.#denials.delete(key)
    this.#denials.set(key, { reply, cost, policies, until, heardAt: performance.now() })
    if (this.#denials.size > mostDenials) this.#denials.delete(this.#denials.keys().next().value!)
  }

  /** The answer to a request that is known to be denied. */
  find(key: string, cost: number, policies: readonly Policy[]): Reading | undefined {
    const denial = this.#denials.get(key)
    if (denial === undefined) return undefined
    const now = performance.now()
    if (now >= denial.until) {
      this.#denials.delete(key)
      return undefined
    }
    if (denial.cost !== cost || denial.policies !== policies) return undefined
    const { at, verdict, answers } = denial.reply
    const passed = Math.floor(now - denial.heardAt)
    return { verdict, source: 'cache', at, charged: 0, policies, answers: later(answers, passed) }
  }

  delete(key: string): void {
    this.#denials.delete(key)
  }
}

/** Answers after some ms in which nothing was charged; what was denied still is. */
function later(answers: readonly number[], passed: number): number[] {
  const moved = [...answers]
  for (let i = 0; i < moved.length; i += answerSize) {
    const wait = moved[i + Answer.retryAfterMs]!
    if (wait > 0) moved[i + Answer.retryAfterMs] = Math.max(1, wait - passed)
    moved[i + Answer.resetMs] = Math.max(0, moved[i + Answer.resetMs]! - passed)
  }
  return moved
}
