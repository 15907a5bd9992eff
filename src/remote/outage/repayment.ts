import { warn } from '../../core/warn.js'
import type { RemoteBuckets } from '../buckets.js'
import { clearTimeout, monotonicMs, setTimeout } from '../time/own-time.js'
import type { Arrear } from './recovery.js'

/** What a server is asked at once: as much as it does in a few milliseconds. */
const heaviestStep = 32

/** Pauses between two steps, ms: at least so long as the last one took. */
const shortestPauseMs = 1
const longestPauseMs = 100

/** When what has failed is tried again, if no recovery comes before, ms. */
const firstRetryMs = 1000
const longestRetryMs = 60_000

/**
 * Has all limiters of a store make up for an outage. It goes in small steps, one after the other, with pauses, so that
 * the server stays free for whoever else asks it.
 */
export class Repayment {
  readonly #all: readonly RemoteBuckets[]
  /** Two at once would ask twice as much of the server. */
  #isRunning = false
  #isToRun = false
  #retryMs = firstRetryMs
  #timer: NodeJS.Timeout | null = null

  constructor(all: readonly RemoteBuckets[]) {
    this.#all = all
  }

  /** Whatever cannot be made up for now is tried again, after the next recovery or a while. Never rejects. */
  async begin(): Promise<void> {
    this.#isToRun = true
    if (this.#isRunning) return
    this.#isRunning = true
    let isDone = true
    while (this.#isToRun) {
      this.#isToRun = false
      this.#tellLost()
      isDone = await this.#run()
    }
    this.#isRunning = false
    if (isDone) this.end()
    else this.#tryLater()
  }

  /** Tries no more by itself. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#retryMs = firstRetryMs
  }

  /** @returns false if something has failed; only what has failed before does not keep others from their turn */
  async #run(): Promise<boolean> {
    let isDone = true
    for (const step of this.#steps()) {
      const begun = monotonicMs()
      const carriedOut = await Promise.all(step.map((arrear) => arrear.carryOut()))
      if (carriedOut.includes(false)) {
        if (Number.isFinite(step[0]!.weight)) return false
        isDone = false
      }
      const tookMs = monotonicMs() - begun
      await pause(Math.min(longestPauseMs, Math.max(shortestPauseMs, tookMs)))
    }
    return isDone
  }

  *#steps(): Generator<readonly Arrear[]> {
    let step: Arrear[] = []
    let weight = 0
    for (const buckets of this.#all)
      for (const arrear of buckets.recovery.arrears()) {
        if (step.length > 0 && weight + arrear.weight > heaviestStep) {
          yield step
          step = []
          weight = 0
        }
        step.push(arrear)
        weight += arrear.weight
      }
    if (step.length > 0) yield step
  }

  #tryLater(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.begin(), this.#retryMs).unref()
    this.#retryMs = Math.min(longestRetryMs, 2 * this.#retryMs)
  }

  #tellLost(): void {
    const lost = this.#all.reduce((sum, buckets) => sum + buckets.takeLost(), 0)
    if (lost === 0) return
    warn(
      'HEADGATE_KEYS_LOST',
      `During the outage more keys were counted here than this process keeps: about ${lost} of them are not charged for what they used.`
    )
  }
}

/** Nothing stays alive for it. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}
