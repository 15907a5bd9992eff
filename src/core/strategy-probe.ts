import { HeadgateError } from './errors.js'
import { checkGrowth } from './growth-probe.js'
import type { Policy } from './policy.js'
import { type Answer, isSame, margin, ProbedStrategy, textOf } from './probed-strategy.js'
import { Out } from './verdict.js'

const start = 1_700_000_000_000

/** Steps of a walk; fewer where a bucket is long, as each is copied. */
const usualSteps = 48
const longBucket = 1024
/** Longer buckets would take too long to be tried when a program starts. */
const longestBucket = 16_384

/**
 * Tries a strategy of the user on a few buckets under one policy, and refuses it if it breaks its contract: otherwise it
 * would admit too much, or lose keys, in silence. What it throws by itself is left to the request that meets it.
 * @throws HeadgateError `HEADGATE_BAD_STRATEGY`, with the rule that is broken
 */
export function probe(policy: Policy): void {
  if (policy.slots > longestBucket) return
  try {
    const first = new Walk(policy).run()
    if (new Walk(policy).run() !== first)
      new ProbedStrategy(policy).fail(
        'the same requests were answered in another way the second time: all state must be in `state`'
      )
  } catch (error) {
    if (error instanceof HeadgateError && error.code === 'HEADGATE_BAD_STRATEGY') throw error
  }
}

/** A bucket that is charged at random, always at the same one, with all that must hold after each step. */
class Walk {
  readonly #probed: ProbedStrategy
  readonly #state: Float64Array
  #now = start
  #seed = 1

  constructor(policy: Policy) {
    this.#probed = new ProbedStrategy(policy)
    this.#state = this.#probed.fresh()
  }

  /** @returns all answers, as text */
  run(): string {
    const { capacity, windowMs, limit, slots } = this.#probed.policy
    this.#checkNew()
    const gaps = [0, 0, 0, 1, Math.ceil(windowMs / limit), Math.floor(windowMs / 2), windowMs, 2 * windowMs]
    const costs = [1, 1, 1, 2, 3, capacity, Math.ceil(capacity / 2)]
    const steps = slots > longBucket ? 4 : usualSteps
    for (let i = 0; i < steps; i++) {
      this.#now += this.#pick(gaps)
      this.#step(Math.min(capacity, this.#pick(costs)))
    }
    return this.#probed.trace
  }

  #checkNew(): void {
    const { capacity } = this.#probed.policy
    const answer = this.#probed.ask(this.#state, this.#now, capacity)
    if (!answer.allowed || answer.resetMs !== 0)
      this.#probed.fail(
        `a bucket of zeros is a new key, whose \`remaining\` is the capacity, ${capacity}, and whose \`resetMs\` is 0; it said ` +
          `${answer.remaining} and ${answer.resetMs}: keep what is owed, not what is left`
      )
  }

  #step(cost: number): void {
    const state = this.#state
    const before = this.#probed.ask(state, this.#now, cost)
    checkGrowth(this.#probed, state, this.#now, cost)
    if (this.#probed.policy.strategy.take !== undefined) this.#compareTake(cost, before)
    if (!before.allowed) {
      this.#checkWait(cost, before)
      this.#probed.charge(state.slice(), this.#now, cost, before)
    } else {
      this.#probed.charge(state, this.#now, cost, before)
      this.#checkRefund(cost)
    }
    this.#checkReset()
    this.#checkCover(cost)
  }

  #compareTake(cost: number, before: Answer): void {
    const { policy, out } = this.#probed
    const [state, other] = [this.#state.slice(), this.#state.slice()]
    const allowed: unknown = policy.strategy.take!(
      state,
      margin,
      policy,
      this.#now,
      cost,
      out.fill(Number.NaN)
    )
    const took = out.slice()
    this.#probed.checkSlots('take', this.#state, state)
    out.set([before.remaining, before.retryAfterMs, before.resetMs])
    if (before.allowed) policy.strategy.charge(other, margin, policy, this.#now, cost, out)
    out[Out.retryAfterMs] = before.retryAfterMs
    // What a denial is held back by means nothing.
    if (!policy.shapes || !before.allowed) took[Out.delayMs] = out[Out.delayMs] = 0
    if (allowed !== before.allowed || !isSame(took, out) || !isSame(state, other))
      this.#probed.fail('`take` did not do what `check` and, where that admits, `charge` do')
  }

  #checkWait(cost: number, { retryAfterMs }: Answer): void {
    if (
      retryAfterMs < Number.POSITIVE_INFINITY &&
      !this.#probed.ask(this.#state, this.#now + retryAfterMs, cost).allowed
    )
      this.#probed.fail(`a cost of ${cost} was denied for ${retryAfterMs} ms, and denied again after them`)
  }

  #checkRefund(cost: number): void {
    const policy = this.#probed.policy
    if (policy.strategy.refund === undefined) return
    const state = this.#state.slice()
    const before = this.#probed.ask(state, this.#now, 1)
    policy.strategy.refund(state, margin, policy, this.#now, cost, this.#now)
    this.#probed.checkSlots('refund', this.#state, state)
    const { remaining } = this.#probed.ask(state, this.#now, 1)
    if (remaining < before.remaining || remaining > before.remaining + cost)
      this.#probed.fail(`a refund of ${cost}, where ${before.remaining} remained, left ${remaining}`)
  }

  /** Past its reset a bucket is as one of zeros: stores forget it then. */
  #checkReset(): void {
    const { capacity } = this.#probed.policy
    const { resetMs } = this.#probed.ask(this.#state, this.#now, 1)
    if (resetMs === Number.POSITIVE_INFINITY) return
    const zeros = this.#probed.fresh()
    for (const cost of [1, capacity]) {
      const answer = this.#probed.ask(this.#state, this.#now + resetMs, cost)
      if (textOf(answer) !== textOf(this.#probed.ask(zeros, this.#now + resetMs, cost)))
        this.#probed.fail(
          `once \`resetMs\` (${resetMs}) had passed, ${answer.remaining} remained of ${capacity}, all of them ${answer.resetMs} ms ` +
            'later: a bucket must then answer as one of zeros'
        )
    }
  }

  #checkCover(cost: number): void {
    const policy = this.#probed.policy
    if (policy.strategy.cover === undefined) return
    const other = this.#probed.fresh()
    this.#probed.charge(other, this.#now, cost, this.#probed.ask(other, this.#now, cost))
    for (const [one, another] of [
      [this.#state, other],
      [other, this.#state]
    ] as const) {
      const state = one.slice()
      policy.strategy.cover(state, margin, another, margin, policy, this.#now)
      this.#probed.checkSlots('cover', one, state)
      const answer = this.#probed.ask(state, this.#now, 1)
      const bound = this.#probed.ask(another, this.#now, 1)
      if (answer.remaining > bound.remaining || answer.resetMs < bound.resetMs)
        this.#probed.fail('after `cover` a bucket answered laxer than the one that it was to cover')
    }
  }

  /** The next of a fixed sequence, so that who is refused once is refused always (Park and Miller, 1988). */
  #pick(values: readonly number[]): number {
    this.#seed = (this.#seed * 48_271) % 2_147_483_647
    return values[this.#seed % values.length]!
  }
}
