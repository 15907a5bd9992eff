import { type Decision, decisionOf } from '../core/decision.js'
import { crowdedOut } from '../core/delay.js'
import type { Permit } from '../core/permit.js'
import type { Policy } from '../core/policy.js'
import { heard } from '../core/promise.js'
import type { Verdict } from '../core/verdict.js'
import { whenEnded } from './endings.js'
import { HeldLines, type LineTime, type Turn } from './held-line.js'
import type { Exchange } from './host.js'
import type { Held } from './outcome.js'
import type { Asked } from './request-rate-limit.js'

/** Looked up with each call: tests put others in their place. */
const ownTime: LineTime = {
  now: () => performance.now(),
  start: (run, ms) => setTimeout(run, ms),
  stop: (timer) => clearTimeout(timer as NodeJS.Timeout)
}

/** The shortest wait that a request is told for which there is no place, ms. */
const shortestWaitMs = 1000

/** Holds the requests of one gate back. */
export class Holding {
  readonly #lines = new HeldLines(ownTime)
  #isClosed = false

  /** True for a request that is to be held for so long, or comes after one of its key that is held. */
  mustWait(key: string, delayMs: number): boolean {
    return !this.#isClosed && (delayMs > 0 || this.#lines.hasAny(key))
  }

  /** True where one more may be held: of all keys, under policies of which the fewest places count. */
  hasRoom(policies: readonly Policy[]): boolean {
    const { held } = this.#lines
    for (const { delay } of policies) if (delay !== null && held >= delay.places) return false
    return true
  }

  /** The denial of a request that was admitted and finds no place: what it was charged is given back. */
  refuse(asked: Asked, verdict: Verdict, permit: Permit | null): Decision {
    const { limiter, policies, key, cost } = asked
    const { delayMs = 0 } = permit ?? decisionOf(verdict, true)
    const waitMs = Math.max(shortestWaitMs, Math.ceil(this.#lines.waitMs(key, delayMs)))
    // A store in the process overwrites its verdict with the next thing that it is asked for.
    const decision = decisionOf(crowdedOut(verdict, waitMs), true)
    permit?.release('ignored')
    const { at, source, receipts } = verdict
    const given = limiter.giveBack(key, cost, policies, { at, source, receipts })
    if (given instanceof Promise) heard(given)
    return decision
  }

  /** Holds a request until its turn has come, or its client has left. */
  hold<Req, Res>({ host, response, key }: Asked<Req, Res>, forMs: number): Held {
    const waiting = new Waiting()
    const exchange = host.exchangeOf?.(response) ?? ({ host, response } as unknown as Exchange)
    let turn: Turn | null = null
    // At once for a client that has left while something was awaited.
    const stop = whenEnded(exchange.host, exchange.response, () => {
      waiting.leave()
      if (turn !== null) this.#lines.leave(turn)
    })
    if (!waiting.hasLeft)
      turn = this.#lines.join(key, forMs, () => {
        stop()
        waiting.goOn()
      })
    return { kind: 'held', forMs, whenDue: (next) => waiting.add(next) }
  }

  /** Has all go on that are held, and holds nobody any more. */
  close(): void {
    this.#isClosed = true
    this.#lines.release()
  }
}

/** What waits for the turn of a request: mostly one callback; as many as there are where one gate is met several times. */
class Waiting {
  hasLeft = false
  #isDue = false
  #nexts: (() => void)[] = []

  add(next: () => void): void {
    if (this.hasLeft) return
    if (this.#isDue) next()
    else this.#nexts.push(next)
  }

  goOn(): void {
    this.#isDue = true
    const nexts = this.#nexts
    this.#nexts = []
    for (const next of nexts) next()
  }

  leave(): void {
    this.hasLeft = true
    this.#nexts = []
  }
}
