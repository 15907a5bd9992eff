import { HeadgateError } from './errors.js'
import { shown } from './options.js'
import type { Policy } from './policy.js'
import { outSize } from './verdict.js'

/** What `check` answered. */
export interface Answer {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
}

/** Slots before and behind a bucket, which belong to others. */
export const margin = 2

/** A strategy of the user under one policy, each of whose answers is held to the contract. */
export class ProbedStrategy {
  readonly policy: Policy
  readonly out = new Float64Array(outSize)
  /** All answers, as text. */
  trace = ''

  constructor(policy: Policy) {
    this.policy = policy
    const { capacity } = policy
    if (!Number.isSafeInteger(capacity) || capacity < 1)
      this.fail(`\`capacity\` returned ${shown(capacity)}, which must be a whole number of at least 1`)
  }

  /** A bucket of zeros. */
  fresh(): Float64Array {
    return new Float64Array(this.policy.slots + 2 * margin)
  }

  fail(rule: string): never {
    const { strategy, limit, windowMs } = this.policy
    throw new HeadgateError(
      'HEADGATE_BAD_STRATEGY',
      `Strategy '${strategy.name}' breaks the contract of strategies, as tried with ${limit} in ${windowMs} ms: ${rule}.`
    )
  }

  /** What `check` says, which is to be what it says again, and to leave no trace. */
  ask(state: Float64Array, now: number, cost: number): Answer {
    const answer = this.#answer(state, now, cost)
    const again = this.#answer(state, now, cost)
    const [one, other] = [textOf(answer), textOf(again)]
    if (one !== other) this.fail(`\`check\` answered ${one}, and to the same question ${other}`)
    this.trace += `${one};`
    return answer
  }

  #answer(state: Float64Array, now: number, cost: number): Answer {
    const policy = this.policy
    const out = this.out.fill(Number.NaN)
    const held = state.slice()
    const allowed: unknown = policy.strategy.check(state, margin, policy, now, cost, out)
    if (!isSame(held, state))
      this.fail('`check` wrote into `state`: it must only look, as a denial leaves no trace')
    if (typeof allowed !== 'boolean')
      this.fail(`\`check\` returned ${shown(allowed)}: it must return true or false, at once`)
    const [remaining = 0, retryAfterMs = 0, resetMs = 0] = out
    this.#checkRemaining('check', remaining)
    if (allowed ? retryAfterMs !== 0 : !isWait(retryAfterMs) || retryAfterMs === 0)
      this.fail(
        `\`check\` wrote ${retryAfterMs} into \`out[1]\`: the wait is 0 where it admits, and otherwise a whole number of ms, at ` +
          'least 1, or Infinity'
      )
    this.#checkResetMs('check', resetMs)
    if (allowed !== cost <= remaining)
      this.fail(
        `\`check\` ${allowed ? 'admitted' : 'denied'} a cost of ${cost} where \`out[0]\` said that ${remaining} remain`
      )
    return { allowed: allowed as boolean, remaining, retryAfterMs, resetMs }
  }

  /** Charges a cost that `check` has answered so before. */
  charge(state: Float64Array, now: number, cost: number, before: Answer): void {
    const policy = this.policy
    const held = state.slice()
    const out = this.out.fill(Number.NaN)
    policy.strategy.charge(state, margin, policy, now, cost, out)
    const [remaining = 0, , resetMs = 0, delayMs] = out
    this.checkSlots('charge', held, state)
    this.#checkRemaining('charge', remaining)
    this.#checkResetMs('charge', resetMs)
    if (policy.shapes && !(isWait(delayMs!) && delayMs! < Number.POSITIVE_INFINITY))
      this.fail(`\`charge\` wrote ${delayMs} into \`out[3]\`: the delay is a whole number of ms`)
    const most = before.allowed ? before.remaining - cost : before.remaining
    if (remaining > most)
      this.fail(`after a charge of ${cost}, where ${before.remaining} remained, ${remaining} remain`)
    const after = this.ask(state, now, 1)
    if (after.remaining !== remaining || after.resetMs !== resetMs)
      this.fail(
        `\`charge\` wrote that ${remaining} remain, all after ${resetMs} ms, and \`check\` says at once ${after.remaining} and ` +
          `${after.resetMs}`
      )
  }

  #checkRemaining(method: string, remaining: number): void {
    const { capacity } = this.policy
    if (!Number.isInteger(remaining) || remaining < 0 || remaining > capacity)
      this.fail(
        `\`${method}\` wrote ${remaining} into \`out[0]\`: what remains is a whole number from 0 to the capacity, ${capacity}`
      )
  }

  #checkResetMs(method: string, resetMs: number): void {
    if (!isWait(resetMs))
      this.fail(
        `\`${method}\` wrote ${resetMs} into \`out[2]\`: the reset is a whole number of ms, at least 0`
      )
  }

  /** A method writes into its own slots, and numbers. */
  checkSlots(method: string, before: Float64Array, state: Float64Array): void {
    const end = state.length - margin
    for (let i = 0; i < state.length; i++) {
      if ((i < margin || i >= end) && state[i] !== before[i])
        this.fail(`\`${method}\` wrote beyond its slots, of which \`slots\` asked for ${this.policy.slots}`)
      if (Number.isNaN(state[i])) this.fail(`\`${method}\` wrote NaN into \`state\``)
    }
  }
}

/** An answer as text. */
export function textOf({ allowed, remaining, retryAfterMs, resetMs }: Answer): string {
  return `${allowed} ${remaining} ${retryAfterMs} ${resetMs}`
}

function isWait(ms: number): boolean {
  return ms >= 0 && (Number.isInteger(ms) || ms === Number.POSITIVE_INFINITY)
}

/** True for equal numbers. */
export function isSame(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
