import type { RemoteBuckets } from './buckets.js'

/** Has all limiters of a store repay what they counted during an outage. */
export class Repayment {
  readonly #all: readonly RemoteBuckets[]
  /** Two at once would charge the same twice. */
  #isRunning = false
  #isToRun = false

  constructor(all: readonly RemoteBuckets[]) {
    this.#all = all
  }

  /** Whatever cannot be charged now is tried again after the next failure; until then time alone pays it back. */
  async begin(): Promise<void> {
    this.#isToRun = true
    if (this.#isRunning) return
    this.#isRunning = true
    while (this.#isToRun) {
      this.#isToRun = false
      for (const buckets of this.#all) await buckets.repay().catch(() => {})
    }
    this.#isRunning = false
  }
}
