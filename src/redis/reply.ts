import { answerSize } from '../core/decision.js'
import { Verdict } from '../core/store.js'

/** What the script replied to one order. */
export interface Reply {
  /** The server's time, ms. */
  readonly at: number
  readonly verdict: Verdict
  readonly charged: number
  readonly answers: readonly number[]
  /** How many numbers of the reply it took. */
  readonly length: number
}

/** Reads what a reply says of an order of so many tiers, from its place on; nothing where it has no answer. */
export function readReply(reply: readonly unknown[], place: number, tiers: number): Reply {
  const at = Number(reply[1])
  if (tiers === 0) return { at, verdict: Verdict.admitted, charged: 0, answers: [], length: 0 }
  const length = 2 + tiers * answerSize
  const answers: number[] = []
  for (let i = place + 2; i < place + length; i++) answers.push(numberOf(reply[i]))
  return {
    at,
    verdict: Number(reply[place]) as Verdict,
    charged: Number(reply[place + 1]),
    answers,
    length
  }
}

/** Some clients are set to give numbers as text; -1 is infinity, which the protocol has no integer for. */
function numberOf(value: unknown): number {
  const number = Number(value)
  return number === -1 ? Number.POSITIVE_INFINITY : number
}
