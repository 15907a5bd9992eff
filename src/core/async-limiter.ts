import { acquired, mustRelease, type Ran, ranWith, type WaitOptions } from './acquiring.js'
import type { WorkResult } from './adaptive/adaptive-limit.js'
import { Admission } from './admission.js'
import type { AsyncBuckets, Receipt } from './async-store.js'
import type { AsyncBans } from './bans/bans.js'
import { type BansOptions, type BansPage, bansOf, cannotList, readPage } from './bans/listing.js'
import { checkUnits, penaliseLater } from './bans/penalty.js'
import { whenever } from './charged-ago.js'
import { monotonicClock } from './clock.js'
import { type Decision, decisionOf } from './decision.js'
import type { Duration } from './duration.js'
import { checkCost, checkInstant, type Key, keyText } from './key-and-cost.js'
import { blockDuration } from './limiter.js'
import type { Permit } from './permit.js'
import { countsInFlight } from './permit-buckets.js'
import type { Policy } from './policy.js'
import { heard, isPromiseLike } from './promise.js'
import { PolicyVariants } from './variants.js'
import { type Action, charge, freeOf, peek, spentOf, takeAgain, type Verdict } from './verdict.js'

/**
 * Decides with a store outside the process. While that store fails, `onStoreError` decides; `decision.source` says
 * which it was. What changes a key rejects then with `HEADGATE_STORE_FAILED`; such a promise may be left alone, and ends no
 * process.
 */
export interface AsyncLimiter {
  /** The validated policies, in the order of configuration. */
  readonly policies: readonly Policy[]
  /**
   * Decides one request of `cost` units and charges it if all policies admit it. A cost of 0 charges nothing, and is
   * admitted unless the key is blocked.
   * @throws HeadgateError `HEADGATE_BAD_KEY`, `HEADGATE_BAD_COST`; never for a denial or a failure of the store
   */
  consume(key: Key, cost?: number): Promise<Decision>
  /**
   * Decides one request, and takes `cost` permits where `concurrency` counts what is in flight, until they are released.
   * With a `queue` it waits for them, in the order of arrival of each key in this process.
   * @throws HeadgateError as `consume`, and the reason of `signal` if that is aborted meanwhile
   */
  acquire(key: Key, cost?: number, options?: WaitOptions): Promise<Permit>
  /**
   * Acquires permits, does the work if they were given, and releases them however the work ends.
   * @returns the decision, and what the work returned
   */
  run<T>(
    key: Key,
    work: (permit: Permit) => T | PromiseLike<T>,
    cost?: number,
    options?: WaitOptions
  ): Promise<Ran<T>>
  /** What `consume(key)` would answer, without charging; `remaining` and `resetMs` are the current ones. */
  peek(key: Key): Promise<Decision>
  /**
   * Gives units back, never more than the key owes. Units charged in a window that has ended are not given back:
   * `chargedAt`, in ms on the store's clock, says when they were charged; now if left out.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  refund(key: Key, cost?: number, chargedAt?: number): Promise<void>
  /**
   * Forgets a key: its next request is its first. Lifts a block.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  reset(key: Key): Promise<void>
  /**
   * Forgets all keys, and lifts all blocks, in all processes; in steps, so that what is decided meanwhile may be forgotten or
   * not. Other processes spend their leases, and believe their deny cache, a moment longer.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` for a store that cannot
   */
  clear(): Promise<void>
  /**
   * Denies a key for `duration`, ms or text; `Infinity` until `reset`. What it owes goes on being paid back.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  block(key: Key, duration: Duration): Promise<void>
  /**
   * Charges units that nobody asked for, for what a client did wrong. What finds nothing left makes the key wait longer: for
   * as long as it takes to come back, up to ten windows or a day, whichever is shorter. A blocked key is charged nothing: all
   * of it lengthens the block.
   * @returns what `peek` says afterwards
   * @throws HeadgateError `HEADGATE_BAD_COST`, `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` where only `concurrency` limits
   */
  penalty(key: Key, units: number): Promise<Decision>
  /**
   * Gives units back whenever they were charged, never more than the key owes. A block stays.
   * @returns what `peek` says afterwards
   */
  reward(key: Key, units: number): Promise<Decision>
  /**
   * Lists keys that are banned, or blocked by hand or by `block`, a page at a time in no order. A page may hold a few keys more
   * than asked for, or fewer, even none, before the last one. A key that is banned meanwhile may be missing.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` for a store that cannot
   */
  bans(options?: BansOptions): Promise<BansPage>
  /** Denies all that wait for permits, and lets nobody wait any more. */
  close(): void
}

/** What one limiter is to take, of what several take together. */
export interface LimiterTake {
  readonly limiter: AsyncPolicyLimiter
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
}

/** The limiter itself, with what the HTTP gate needs beyond the public face. */
export class AsyncPolicyLimiter implements AsyncLimiter {
  readonly policies: readonly Policy[]
  readonly #buckets: AsyncBuckets
  readonly #take: Action
  readonly #variants: PolicyVariants
  readonly #bans: AsyncBans | null
  /** null where nothing is counted in flight. */
  readonly admission: Admission | null

  constructor(
    policies: readonly Policy[],
    buckets: AsyncBuckets,
    terms: Pick<Action, 'countDenied' | 'blockMs'> & { readonly bans: AsyncBans | null }
  ) {
    this.policies = policies
    this.#buckets = buckets
    this.#bans = terms.bans
    this.#take = { kind: 'take', countDenied: terms.countDenied, blockMs: terms.blockMs }
    this.#variants = new PolicyVariants(policies)
    this.admission = policies.some(countsInFlight) ? this.#admission() : null
  }

  async consume(key: Key, cost = 1): Promise<Decision> {
    if (this.admission !== null) throw mustRelease('consume')
    const verdict = this.take(key, cost, this.policies)
    return decisionOf(isPromiseLike<Verdict>(verdict) ? await verdict : verdict, true)
  }

  async acquire(key: Key, cost = 1, options?: WaitOptions): Promise<Permit> {
    return acquired(this, keyText(key), cost, options)
  }

  run<T>(
    key: Key,
    work: (permit: Permit) => T | PromiseLike<T>,
    cost = 1,
    options?: WaitOptions
  ): Promise<Ran<T>> {
    return ranWith(() => this.acquire(key, cost, options), work)
  }

  close(): void {
    this.admission?.close()
  }

  instantOf(): number {
    return this.admission!.wantsTime() ? monotonicClock() : 0
  }

  giveBackPermit(key: string, permit: number, cost: number, since: number, result: WorkResult): void {
    this.admission!.release(key, permit, cost, since, result)
  }

  isPermitLost(permit: number): boolean {
    return this.#buckets.isPermitLost?.(permit) === true
  }

  async peek(key: Key): Promise<Decision> {
    return decisionOf(await this.look(key, this.policies), false)
  }

  refund(key: Key, cost = 1, chargedAt?: number): Promise<void> {
    return this.giveBack(key, cost, this.policies, { at: chargedAt, source: 'store' })
  }

  reset(key: Key): Promise<void> {
    return changed(() => {
      const text = keyText(key)
      return all(this.#buckets.reset(text), this.#bans?.reset(text))
    })
  }

  clear(): Promise<void> {
    return changed(() => all(this.#buckets.clear(), this.#bans?.clear()))
  }

  block(key: Key, duration: Duration): Promise<void> {
    return changed(() => {
      const text = keyText(key)
      return all(this.#buckets.block(text, blockDuration(duration)), this.#bans?.end(text))
    })
  }

  penalty(key: Key, units: number): Promise<Decision> {
    return changed(async () => decisionOf(await this.penalise(key, units, this.policies), false))
  }

  reward(key: Key, units: number): Promise<Decision> {
    return changed(async () => {
      await this.reimburse(key, units, this.policies)
      return this.peek(key)
    })
  }

  async bans(options: BansOptions = {}): Promise<BansPage> {
    const page = readPage(options)
    if (this.#buckets.blocks === undefined) throw cannotList()
    return bansOf(await this.#buckets.blocks(page))
  }

  /** Decides under `policies` that may be variants of the limiter's own. */
  take(key: Key, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict> {
    if (checkCost(cost) > 0) {
      const verdict = this.#buckets.decide(this.#take, keyText(key), cost, policies)
      return this.#bans === null ? verdict : this.#bans.judge(keyText(key), verdict)
    }
    const look = this.#buckets.decide(peek, keyText(key), 1, policies)
    return look instanceof Promise ? look.then(freeOf) : freeOf(look)
  }

  /** The same with others, each of its limiter, in one step of the store; null where it cannot. */
  static takeTogether(takes: readonly LimiterTake[]): Promise<readonly Verdict[]> | null {
    if (takes.some(({ limiter, cost }) => checkCost(cost) === 0 || limiter.admission !== null)) return null
    const asked = takes[0]!.limiter.#buckets.takeTogether?.(
      takes.map(({ limiter, key, cost, policies }) => ({
        ...{ buckets: limiter.#buckets, action: limiter.#take },
        ...{ key: keyText(key), cost, policies }
      }))
    )
    if (asked === undefined || asked === null) return null
    return asked.then((verdicts) =>
      Promise.all(
        verdicts.map((verdict, i) => {
          const { limiter, key } = takes[i]!
          return limiter.#bans === null ? verdict : limiter.#bans.judge(keyText(key), verdict)
        })
      )
    )
  }

  /** Looks at whether `cost` would be admitted, under such policies. */
  look(key: Key, policies: readonly Policy[], cost = 1): Verdict | Promise<Verdict> {
    return this.#buckets.decide(peek, keyText(key), cost, policies)
  }

  /** True where its times are of a clock outside the process. */
  get hasOwnClock(): boolean {
    return true
  }

  /** True where a denied request is charged, too. */
  get countsDenied(): boolean {
    return this.#take.countDenied
  }

  /** Charges units that have already been spent, up to what is left. Counts as allowed. */
  async charge(key: Key, cost: number, policies: readonly Policy[]): Promise<Verdict> {
    if (checkCost(cost) > 0) return this.#buckets.decide(charge, keyText(key), cost, policies)
    return spentOf(await this.#buckets.decide(peek, keyText(key), 1, policies))
  }

  /** Refunds under the policies of the request that was charged. */
  giveBack(key: Key, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    return changed(async () => {
      checkInstant(receipt.at)
      const text = keyText(key)
      if (checkCost(cost) > 0) await this.#buckets.refund(text, cost, policies, receipt)
    })
  }

  /** See `penalty`, under such policies. */
  penalise(key: Key, units: number, policies: readonly Policy[]): Promise<Verdict> {
    const look = () => this.look(key, policies)
    const charge = () => this.charge(key, units, policies)
    const block = (blockMs: number) => this.#buckets.block(keyText(key), blockMs, true)
    return penaliseLater({ look, charge, block }, units, policies)
  }

  /** See `reward`, under such policies. */
  reimburse(key: Key, units: number, policies: readonly Policy[]): Promise<void> {
    return changed(async () => {
      checkUnits('reward', units, policies)
      const receipt = { at: whenever, source: 'store' } as const
      if (units > 0) await this.#buckets.refund(keyText(key), units, policies, receipt)
    })
  }

  #admission(): Admission {
    const buckets = this.#buckets
    const admission: Admission = new Admission({
      policies: this.policies,
      take: ({ key, cost, policies }, again) =>
        again
          ? this.#buckets.decide(takeAgain, keyText(key), cost, policies)
          : this.take(key, cost, policies),
      release: (key, permit, cost, result) => {
        buckets.release!(key, permit, cost, result)
        admission.released(key)
      },
      now: monotonicClock,
      releasesUnseen: true
    })
    return admission
  }

  /** The policies with limits and bursts computed for a request; the i-th stays as it is where both are undefined. */
  withLimits(limits: readonly unknown[], bursts?: readonly unknown[]): readonly Policy[] {
    return this.#variants.withLimits(limits, bursts)
  }
}

async function all(...changes: readonly (Promise<void> | undefined)[]): Promise<void> {
  await Promise.all(changes)
}

/** What is thrown at once is as what the promise rejects with. */
function changed<T>(change: () => Promise<T>): Promise<T> {
  return heard(new Promise((resolve) => resolve(change())))
}
