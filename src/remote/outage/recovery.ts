import { HeadgateError } from '../../core/errors.js'
import type { Policy } from '../../core/policy.js'
import type { Verdict } from '../../core/verdict.js'
import { warnOnce } from '../../core/warn.js'
import type { Executor, Location } from '../executor.js'
import { reasonOf } from '../failure.js'
import type { Changed, Repay } from '../operation.js'
import type { KnownBlock, KnownBlocks } from './known-blocks.js'
import type { LateRefund, LateRefunds } from './late-refunds.js'
import type { LocalCounting } from './local-counting.js'

/** What the recovery of one limiter is made of. */
export interface RecoveryParts {
  readonly policies: readonly Policy[]
  readonly locate: (key: string) => Location
  /** What is asked by it is not counted by breakers. */
  readonly executor: Executor
  readonly localCounting: LocalCounting
  readonly blocks: KnownBlocks
  readonly lateRefunds: LateRefunds
}

/** One thing that the store is to be told after an outage. */
export interface Arrear {
  /** How much of the server's time it takes: 1 for most, more for keys of many numbers. */
  readonly weight: number
  /** Tells the store; false if that failed, and is to be tried again later. Never rejects. */
  carryOut(): Promise<boolean>
}

/** Units that a server charges in about the time of one key, where a strategy keeps each. */
const unitsPerWeight = 100

/** The weight of what owes nothing any more: many are looked at in one go, and not all. */
const lightest = 1 / 8

/** The weight of what has failed before: more than any other may have beside it. */
const heaviest = Number.POSITIVE_INFINITY

/** How often a key may fail by itself before it is lost. */
const mostFailures = 30

/** How many payments of one key follow each other: what is being paid, and what was counted meanwhile. */
const paymentsInTurn = 2

/**
 * Brings the store up to date for one limiter after an outage: with the blocks that were made meanwhile, with what keys
 * have used, and with what is to be given back.
 */
export class Recovery {
  readonly #parts: RecoveryParts

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** What the store is to be told, as far as its nodes work. */
  *arrears(): Generator<Arrear> {
    const { blocks, localCounting, lateRefunds } = this.#parts
    for (const [key, block] of blocks.due())
      if (this.#isReady(key)) yield { weight: 1, carryOut: () => this.#carry(key, block) }
    for (const key of localCounting.keys())
      if (this.#isReady(key)) yield { weight: this.#weightOf(key), carryOut: () => this.#pay(key) }
    for (const refund of lateRefunds)
      if (this.#isReady(refund.key)) yield { weight: 1, carryOut: () => this.#giveBack(refund) }
  }

  #isReady(key: string): boolean {
    const { failure, node } = this.#parts.locate(key)
    return failure === null && !node.breaker.isOpen
  }

  /** An error of the user's strategy is that key's alone. */
  #weightOf(key: string): number {
    try {
      const due = this.#parts.localCounting.dueOf(key)
      if (due === null) return lightest
      if (due.payment.failures > 0) return heaviest
      return due.units.reduce(
        (weight, units, i) => weight + Math.min(units, due.policies[i]!.slots) / unitsPerWeight,
        1
      )
    } catch (error) {
      this.#lose(key, error)
      return lightest
    }
  }

  async #carry(key: string, block: KnownBlock): Promise<boolean> {
    const { blocks, policies } = this.#parts
    const blockMs = blocks.left(key)
    if (blockMs === 0) return true
    try {
      await this.#execute(key, { kind: 'block', blockMs, isLeast: true }, policies)
      blocks.told(key, block)
      return true
    } catch (error) {
      return !(error instanceof HeadgateError)
    }
  }

  async #pay(key: string): Promise<boolean> {
    try {
      for (let turn = 0; turn < paymentsInTurn; turn++) if (!(await this.#payOnce(key))) break
      return true
    } catch (error) {
      if (error instanceof HeadgateError) return false
      this.#lose(key, error)
      return true
    }
  }

  /** @returns false if nothing is due */
  async #payOnce(key: string): Promise<boolean> {
    const { localCounting } = this.#parts
    const due = localCounting.dueOf(key)
    if (due === null) return false
    const { payment, units, policies, markMs } = due
    const { mark } = payment
    try {
      const verdict = await this.#execute(key, { kind: 'repay', units, mark, markMs }, policies)
      localCounting.paid(key, payment, verdict!.at)
      return true
    } catch (error) {
      payment.failures++
      if (payment.failures > mostFailures) throw new Error(reasonOf(error), { cause: error })
      throw error
    }
  }

  /** Given back at the most once: what may have been, is not tried again. */
  async #giveBack(refund: LateRefund): Promise<boolean> {
    const { localCounting, lateRefunds } = this.#parts
    const { key, cost, policies } = refund
    let { chargedAt } = refund
    if (refund.isLocal) {
      const fate = localCounting.refund(key, cost, policies, chargedAt)
      if (fate.kind === 'being-paid') return false
      if (fate.kind !== 'paid') return lateRefunds.delete(refund)
      chargedAt = fate.storeAt
    }
    if (!lateRefunds.delete(refund)) return true
    try {
      await this.#execute(key, { kind: refund.isLease ? 'return' : 'refund', cost, chargedAt }, policies)
      return true
    } catch (error) {
      return !(error instanceof HeadgateError)
    }
  }

  #execute(
    key: string,
    operation: Changed | Repay,
    policies: readonly Policy[]
  ): Promise<Verdict | undefined> {
    const { executor, locate } = this.#parts
    const location = locate(key)
    if (location.failure !== null) return Promise.reject(location.failure)
    return executor.execute(key, location, operation, policies)
  }

  #lose(key: string, error: unknown): void {
    this.#parts.localCounting.forget(key)
    warnOnce(
      'HEADGATE_REPAYMENT_FAILED',
      `A key that was counted here during an outage could not be charged afterwards, and is not: ${reasonOf(error)}`
    )
  }
}
