import { setImmediate } from 'node:timers/promises'
import type { AsyncCounters, AsyncCountersOptions, AsyncStore, Reading } from '../../src/core/async-store.js'
import { Answer } from '../../src/core/decision.js'
import type { Policy } from '../../src/core/policy.js'
import { Charge, type Counters, Verdict } from '../../src/core/store.js'
import { type Clock, memoryStore } from '../../src/index.js'

/** A memory store as one outside of the process: on a clock of its own, and with promises that take a while. */
export function asyncMemory(now: Clock): AsyncStore {
  const store = memoryStore()
  return { openAsync: (options) => new AsyncMemory(store.open(options), options, now) }
}

class AsyncMemory implements AsyncCounters {
  readonly #counters: Counters
  readonly #blockMs: number
  readonly #charge: Charge
  readonly #now: Clock

  constructor(counters: Counters, { blockMs, countDenied }: AsyncCountersOptions, now: Clock) {
    this.#counters = counters
    this.#blockMs = blockMs
    this.#charge = countDenied ? Charge.always : Charge.admitted
    this.#now = now
  }

  async take(key: string, cost: number, policies: readonly Policy[]): Promise<Reading> {
    await setImmediate()
    const verdict = this.#decide(key, cost, policies, this.#charge)
    const wait = Math.max(...this.#counters.answers.map((answer) => answer[Answer.retryAfterMs]!))
    if (verdict !== Verdict.denied || this.#blockMs === 0 || wait === Number.POSITIVE_INFINITY)
      return this.#reading(verdict, verdict === Verdict.admitted ? cost : 0, policies)
    this.#counters.block(key, Math.max(this.#blockMs, wait), this.#now())
    return this.#reading(this.#decide(key, cost, policies, Charge.none), 0, policies)
  }

  async peek(key: string, policies: readonly Policy[]): Promise<Reading> {
    await setImmediate()
    return this.#reading(this.#decide(key, 1, policies, Charge.none), 0, policies)
  }

  async chargeAnyway(key: string, cost: number, policies: readonly Policy[]): Promise<Reading> {
    await setImmediate()
    this.#decide(key, cost, policies, Charge.none)
    const left = this.#counters.answers.map((answer) => answer[Answer.remaining]!)
    const verdict = this.#decide(key, cost, policies, Charge.always)
    return this.#reading(verdict, Math.min(cost, ...left), policies)
  }

  async refund(
    key: string,
    cost: number,
    policies: readonly Policy[],
    { at }: { readonly at?: number | undefined }
  ): Promise<void> {
    await setImmediate()
    this.#counters.refund(key, cost, this.#now(), policies, at ?? this.#now())
  }

  async reset(key: string): Promise<void> {
    await setImmediate()
    this.#counters.reset(key)
  }

  async block(key: string, blockMs: number): Promise<void> {
    await setImmediate()
    this.#counters.block(key, blockMs, this.#now())
  }

  #decide(key: string, cost: number, policies: readonly Policy[], charge: Charge): Verdict {
    return this.#counters.decide(key, cost, this.#now(), policies, charge)
  }

  #reading(verdict: Verdict, charged: number, policies: readonly Policy[]): Reading {
    const answers = this.#counters.answers.flatMap((answer) => [...answer])
    return { verdict, source: 'store', at: this.#now(), charged, policies, answers }
  }
}
