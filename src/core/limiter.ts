import { acquired, mustRelease, type Ran, ranWith, type WaitOptions } from './acquiring.js'
import type { WorkResult } from './adaptive/adaptive-limit.js'
import { Admission } from './admission.js'
import type { Receipt } from './async-store.js'
import type { Bans } from './bans/bans.js'
import { type BansOptions, type BansPage, bansOf, cannotList, readPage } from './bans/listing.js'
import { checkUnits, penalise } from './bans/penalty.js'
import { whenever } from './charged-ago.js'
import type { Clock } from './clock.js'
import { type Decision, decisionOf } from './decision.js'
import { type Duration, durationMs } from './duration.js'
import { HeadgateError } from './errors.js'
import { checkCost, checkInstant, type Key, keyText } from './key-and-cost.js'
import type { Permit } from './permit.js'
import { countsInFlight } from './permit-buckets.js'
import type { Policy } from './policy.js'
import type { Buckets } from './store.js'
import { PolicyVariants } from './variants.js'
import { type Action, charge, freeOf, peek, spentOf, takeAgain, type Verdict } from './verdict.js'

/** Decides synchronously whether requests are admitted. */
export interface Limiter {
  /** The validated policies, in the order of configuration. */
  readonly policies: readonly Policy[]
  /**
   * Decides one request of `cost` units and charges it if all policies admit it. A cost of 0 charges nothing, and is
   * admitted unless the key is blocked.
   * @throws HeadgateError `HEADGATE_BAD_KEY`, `HEADGATE_BAD_COST`; never for a denial
   */
  consume(key: Key, cost?: number): Decision
  /**
   * Decides one request, and takes `cost` permits where `concurrency` counts what is in flight, until they are released.
   * With a `queue` it waits for them, and answers by a promise: see `QueueingLimiter`.
   * @example
   * using permit = limiter.acquire('tenant:7')
   * if (permit.allowed) work()
   * @throws HeadgateError as `consume`
   */
  acquire(key: Key, cost?: number): Permit
  /**
   * Acquires permits, does the work if they were given, and releases them however the work ends.
   * @returns the decision, and what the work returned
   */
  run<T>(key: Key, work: (permit: Permit) => T | PromiseLike<T>, cost?: number): Promise<Ran<T>>
  /** What `consume(key)` would answer, without charging; `remaining` and `resetMs` are the current ones. */
  peek(key: Key): Decision
  /**
   * Gives units back, never more than the key owes. Units charged in a window that has ended are not given back:
   * `chargedAt`, in ms on the limiter's clock, says when they were charged; now if left out.
   */
  refund(key: Key, cost?: number, chargedAt?: number): void
  /** Forgets a key: its next request is its first. Lifts a block. */
  reset(key: Key): void
  /** Forgets all keys, and lifts all blocks; of other limiters that count with this one, too. */
  clear(): void
  /**
   * Denies a key for `duration`, ms or text; `Infinity` until `reset`. What it owes goes on being paid back.
   * @throws HeadgateError `HEADGATE_STORE_FULL` if as many keys are blocked as the store may hold
   */
  block(key: Key, duration: Duration): void
  /**
   * Charges units that nobody asked for, for what a client did wrong. What finds nothing left makes the key wait longer: for
   * as long as it takes to come back, up to ten windows or a day, whichever is shorter. A blocked key is charged nothing: all
   * of it lengthens the block.
   * @returns what `peek` says afterwards
   * @throws HeadgateError `HEADGATE_BAD_COST`, `HEADGATE_STORE_FULL`, or `HEADGATE_MISUSE` where only `concurrency` limits
   */
  penalty(key: Key, units: number): Decision
  /**
   * Gives units back whenever they were charged, never more than the key owes. A block stays.
   * @returns what `peek` says afterwards
   */
  reward(key: Key, units: number): Decision
  /**
   * Lists keys that are banned, or blocked by hand or by `block`, a page at a time in the order of the keys. Looks at all of
   * them for each page: use it in dashboards, not per request.
   */
  bans(options?: BansOptions): BansPage
  /** How many keys owe something now. Walks the whole table: use it in tests and dashboards, not per request. */
  size(): number
  /** Denies all that wait for permits, and lets nobody wait any more. */
  close(): void
}

/** A limiter whose `concurrency` has a `queue`. */
export interface QueueingLimiter extends Omit<Limiter, 'acquire' | 'run'> {
  /**
   * As that of a limiter without a queue, but it waits for permits, in the order of arrival of each key.
   * @throws the reason of `signal` if that is aborted meanwhile
   */
  acquire(key: Key, cost?: number, options?: WaitOptions): Promise<Permit>
  run<T>(
    key: Key,
    work: (permit: Permit) => T | PromiseLike<T>,
    cost?: number,
    options?: WaitOptions
  ): Promise<Ran<T>>
}

/** The parts that a limiter is made of. */
export interface LimiterParts {
  readonly policies: readonly Policy[]
  readonly buckets: Buckets
  readonly now: Clock
  readonly countDenied: boolean
  /** 0: denied keys are not blocked. */
  readonly blockMs: number
  /** null where nobody is banned. */
  readonly bans: Bans | null
}

/** The limiter itself, with what the HTTP gate needs beyond the public face. */
export class PolicyLimiter implements Limiter {
  readonly policies: readonly Policy[]
  readonly now: Clock
  readonly #buckets: Buckets
  readonly #take: Action
  readonly #variants: PolicyVariants
  readonly #bans: Bans | null
  /** null where nothing is counted in flight. */
  readonly admission: Admission | null

  constructor({ policies, buckets, now, countDenied, blockMs, bans }: LimiterParts) {
    this.policies = policies
    this.now = now
    this.#buckets = buckets
    this.#bans = bans
    this.#take = { kind: 'take', countDenied, blockMs }
    this.#variants = new PolicyVariants(policies)
    this.admission = policies.some(countsInFlight) ? this.#admission() : null
  }

  consume(key: Key, cost = 1): Decision {
    if (this.admission !== null) throw mustRelease('consume')
    return decisionOf(this.take(key, cost, this.policies), true)
  }

  acquire(key: Key, cost = 1, options?: WaitOptions): Permit {
    if (this.admission?.hasLine !== true) return acquired(this, keyText(key), cost) as Permit
    const permit: unknown = new Promise((resolve) => resolve(acquired(this, keyText(key), cost, options)))
    return permit as Permit
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

  instantOf({ at }: Verdict): number {
    return this.admission!.wantsTime() ? at : 0
  }

  giveBackPermit(key: string, permit: number, cost: number, since: number, result: WorkResult): void {
    this.admission!.release(key, permit, cost, since, result)
  }

  peek(key: Key): Decision {
    return decisionOf(this.look(key, this.policies), false)
  }

  refund(key: Key, cost = 1, chargedAt?: number): void {
    this.giveBack(key, cost, this.policies, { at: chargedAt })
  }

  reset(key: Key): void {
    const text = keyText(key)
    this.#buckets.reset(text)
    this.#bans?.reset(text)
  }

  clear(): void {
    this.#buckets.clear()
    this.#bans?.clear()
  }

  block(key: Key, duration: Duration): void {
    const text = keyText(key)
    this.#block(text, blockDuration(duration), false)
    this.#bans?.end(text, this.now())
  }

  penalty(key: Key, units: number): Decision {
    return decisionOf(this.penalise(key, units, this.policies), false)
  }

  reward(key: Key, units: number): Decision {
    this.reimburse(key, units, this.policies)
    return this.peek(key)
  }

  bans(options: BansOptions = {}): BansPage {
    const page = readPage(options)
    if (this.#buckets.blocks === undefined) throw cannotList()
    return bansOf(this.#buckets.blocks(page, this.now()))
  }

  size(): number {
    return this.#buckets.size(this.now())
  }

  /** Decides under `policies` that may be variants of the limiter's own. To be read before the next decision. */
  take(key: Key, cost: number, policies: readonly Policy[]): Verdict {
    if (checkCost(cost) === 0) return freeOf(this.#decide(peek, key, 1, policies))
    const verdict = this.#decide(this.#take, key, cost, policies)
    return this.#bans === null || verdict.isAllowed ? verdict : this.#bans.judge(keyText(key), verdict)
  }

  /** Looks at whether `cost` would be admitted, under such policies. To be read before the next decision. */
  look(key: Key, policies: readonly Policy[], cost = 1): Verdict {
    return this.#decide(peek, key, cost, policies)
  }

  /** True where its times are of a clock outside the process. */
  get hasOwnClock(): boolean {
    return false
  }

  /** True where a denied request is charged, too. */
  get countsDenied(): boolean {
    return this.#take.countDenied
  }

  /** Charges units that have already been spent, up to what is left. Counts as allowed. */
  charge(key: Key, cost: number, policies: readonly Policy[]): Verdict {
    return checkCost(cost) === 0
      ? spentOf(this.#decide(peek, key, 1, policies))
      : this.#decide(charge, key, cost, policies)
  }

  /** Refunds under the policies of the request that was charged. */
  giveBack(key: Key, cost: number, policies: readonly Policy[], { at }: Pick<Receipt, 'at'>): void {
    const now = this.now()
    checkInstant(at)
    const text = keyText(key)
    if (checkCost(cost) > 0) this.#buckets.refund(text, cost, now, policies, at ?? now)
  }

  /** See `penalty`, under such policies. To be read before the next decision. */
  penalise(key: Key, units: number, policies: readonly Policy[]): Verdict {
    const text = keyText(key)
    const look = () => this.look(text, policies)
    const charge = () => this.charge(text, units, policies)
    return penalise({ look, charge, block: (ms) => this.#block(text, ms, true) }, units, policies)
  }

  /** See `reward`, under such policies. */
  reimburse(key: Key, units: number, policies: readonly Policy[]): void {
    checkUnits('reward', units, policies)
    if (units > 0) this.#buckets.refund(keyText(key), units, this.now(), policies, whenever)
  }

  /** The policies with limits and bursts computed for a request; the i-th stays as it is where both are undefined. */
  withLimits(limits: readonly unknown[], bursts?: readonly unknown[]): readonly Policy[] {
    return this.#variants.withLimits(limits, bursts)
  }

  #block(text: string, blockMs: number, isLeast: boolean): void {
    if (!this.#buckets.block(text, blockMs, this.now(), isLeast))
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        'As many keys are blocked as the store keeps: raise its `maxKeys`.'
      )
  }

  #admission(): Admission {
    const buckets = this.#buckets
    const admission = new Admission({
      policies: this.policies,
      take: ({ key, cost, policies }, again) =>
        again
          ? this.#buckets.decide(takeAgain, keyText(key), cost, this.now(), policies)
          : this.take(key, cost, policies),
      release: (key, permit, cost, result) => buckets.release!(key, permit, cost, result),
      now: this.now,
      releasesUnseen: buckets.releasesUnseen === true
    })
    if (admission.hasLine) buckets.onRelease?.((key) => admission.released(key))
    return admission
  }

  #decide(action: Action, key: Key, cost: number, policies: readonly Policy[]): Verdict {
    return this.#buckets.decide(action, keyText(key), cost, this.now.call(undefined), policies)
  }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for what is neither a duration nor `Infinity` */
export function blockDuration(duration: Duration): number {
  return duration === Number.POSITIVE_INFINITY ? duration : durationMs('duration', duration)
}
