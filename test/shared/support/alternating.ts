import type { Counters, CountersOptions, Store } from '../../../src/core/store.js'
import { type SharedStore, sharedStore } from '../../../src/shared/index.js'

/** A store whose every call goes to the other of two attachments, as two threads in turn would. */
export function alternating(store: SharedStore): Store {
  const other = sharedStore({ from: structuredClone(store.handle) })
  return { open: (options: CountersOptions) => new InTurn([store.open(options), other.open(options)]) }
}

class InTurn implements Counters {
  readonly answers: readonly Float64Array[]
  #turn = 0
  readonly #both: readonly [Counters, Counters]

  constructor(both: readonly [Counters, Counters]) {
    this.#both = both
    this.answers = both[0].answers.map((answer) => new Float64Array(answer))
  }

  get #next(): Counters {
    this.#turn = 1 - this.#turn
    return this.#both[this.#turn]!
  }

  decide(...args: Parameters<Counters['decide']>) {
    const counters = this.#next
    const verdict = counters.decide(...args)
    for (const [i, answer] of counters.answers.entries()) this.answers[i]!.set(answer)
    return verdict
  }

  refund(...args: Parameters<Counters['refund']>) {
    this.#next.refund(...args)
  }

  reset(key: string) {
    this.#next.reset(key)
  }

  block(...args: Parameters<Counters['block']>) {
    return this.#next.block(...args)
  }

  size(now: number) {
    return this.#next.size(now)
  }
}
