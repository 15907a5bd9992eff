import type { Receipt } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { DenyCache } from './deny-cache.js'
import type { Executor, Location } from './executor.js'
import type { Units } from './leases.js'
import type { Changed } from './operation.js'
import type { KnownBlocks } from './outage/known-blocks.js'
import type { LateRefunds } from './outage/late-refunds.js'
import type { LocalCounting } from './outage/local-counting.js'
import { monotonicMs } from './time/own-time.js'

/** The parts that changes of keys are made of. */
export interface ChangesParts {
  readonly policies: readonly Policy[]
  /** What error messages call the backend. */
  readonly name: string
  readonly locate: (key: string) => Location
  readonly executor: Executor
  readonly localCounting: LocalCounting
  readonly blocks: KnownBlocks
  readonly lateRefunds: LateRefunds
  readonly denyCache: DenyCache | null
}

/**
 * What changes keys otherwise than by deciding. While the store fails a change is made here as far as it can be, and in
 * the store afterwards; it rejects all the same, unless all of it was made here. Keys are as they are kept.
 */
export class Changes {
  readonly #parts: ChangesParts

  constructor(parts: ChangesParts) {
    this.#parts = parts
  }

  async refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    const { at, source } = receipt
    if (source === 'local') await this.#refundLocal(key, cost, policies, at)
    if (isOfStore(source)) await this.#refund(key, cost, policies, at)
  }

  /** Gives back what was leased. */
  async giveBack(key: string, { count: cost, chargedAt, policies }: Units): Promise<void> {
    try {
      await this.#changeDenied(key, { kind: 'return', cost, chargedAt }, policies)
    } catch (error) {
      if (error instanceof NotAsked)
        this.#parts.lateRefunds.add({ key, cost, policies, chargedAt, isLocal: false, isLease: true })
      throw error
    }
  }

  async reset(key: string): Promise<void> {
    const { localCounting, blocks, lateRefunds } = this.#parts
    localCounting.forget(key)
    blocks.delete(key)
    lateRefunds.forget(key)
    await this.#changeDenied(key, { kind: 'reset' })
  }

  /** Holds here at once, and in the store as soon as it hears of it. */
  async block(key: string, blockMs: number, isLeast: boolean): Promise<void> {
    const { blocks } = this.#parts
    const block = blocks.add(key, isLeast ? Math.max(blockMs, blocks.left(key)) : blockMs, true)
    await this.#changeDenied(key, { kind: 'block', blockMs, isLeast })
    blocks.told(key, block)
  }

  /** What was counted here is given back here, or in the store if that was charged for it. */
  async #refundLocal(
    key: string,
    cost: number,
    policies: readonly Policy[],
    at: number | undefined
  ): Promise<void> {
    const fate = this.#parts.localCounting.refund(key, cost, policies, at)
    if (fate.kind === 'paid') await this.#refund(key, cost, policies, fate.storeAt)
    else if (fate.kind === 'being-paid' && at !== undefined)
      this.#parts.lateRefunds.add({ key, cost, policies, chargedAt: at, isLocal: true, isLease: false })
  }

  /** What a store that fails is not even asked for is given back when it works again. */
  async #refund(
    key: string,
    cost: number,
    policies: readonly Policy[],
    chargedAt: number | undefined
  ): Promise<void> {
    try {
      await this.#changeDenied(key, { kind: 'refund', cost, chargedAt }, policies)
    } catch (error) {
      if (!(error instanceof NotAsked)) throw error
      const { localCounting, lateRefunds, locate } = this.#parts
      // What is said of no time is of the last charge, which was counted here.
      if (chargedAt === undefined && localCounting.has(key))
        return void localCounting.refund(key, cost, policies, undefined)
      const storeNow = Math.floor(monotonicMs() + locate(key).node.clock.ahead)
      lateRefunds.add({
        ...{ key, cost, policies, isLocal: false, isLease: false },
        chargedAt: chargedAt ?? storeNow
      })
      throw error
    }
  }

  /** Forgets a denial at once, and again if the key was asked about before and answered meanwhile. */
  async #changeDenied(key: string, operation: Changed, policies = this.#parts.policies): Promise<void> {
    const { denyCache } = this.#parts
    denyCache?.delete(key)
    try {
      await this.#change(key, operation, policies)
    } finally {
      denyCache?.delete(key)
    }
  }

  async #change(key: string, operation: Changed, policies = this.#parts.policies): Promise<void> {
    const { executor, name, locate } = this.#parts
    const location = locate(key)
    if (location.failure !== null) throw new NotAsked(location.failure.message, location.failure.cause)
    const { breaker } = location.node
    if (!breaker.admits())
      throw new NotAsked(`${name} is failing; it is asked again in ${breaker.waitMs} ms.`)
    await executor.execute(key, location, operation, policies)
  }
}

/** The error of what the store was not even asked for, so that it can be asked later. */
class NotAsked extends HeadgateError {
  constructor(message: string, cause?: unknown) {
    super('HEADGATE_STORE_FAILED', message, cause === undefined ? {} : { cause })
  }
}

/** True for what the store has charged. */
export function isOfStore(source: Verdict['source']): boolean {
  return source === 'store' || source === 'lease' || source === 'cache'
}
