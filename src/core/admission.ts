import type { WorkResult } from './adaptive/adaptive-limit.js'
import { checkCost } from './key-and-cost.js'
import { countsInFlight, everyone } from './permit-buckets.js'
import type { Policy } from './policy.js'
import { isPromiseLike } from './promise.js'
import { ServiceTimes } from './service-times.js'
import { kept, Out, outSize, type Verdict } from './verdict.js'
import type { Leaver } from './waiter.js'
import { WaitingLine } from './waiting-line.js'

/** What is asked for: permits for a key, under these policies. */
export interface Asking {
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
}

/** What a limiter lends to the admission of what it counts in flight. */
export interface AdmissionParts {
  readonly policies: readonly Policy[]
  /**
   * Takes permits, and charges the windows beside them: all or nothing. `again` for somebody who waits, and whose denial was
   * counted the first time.
   */
  readonly take: (asking: Asking, again: boolean) => Verdict | Promise<Verdict>
  readonly release: (key: string, permit: number, cost: number, result: WorkResult) => void
  /** A clock of this process, ms. */
  readonly now: () => number
  /** True where others release permits without `released` being called. */
  readonly releasesUnseen: boolean
}

/** Admits what is counted in flight: at once, or after a wait in line. */
export class Admission {
  readonly #parts: AdmissionParts
  readonly #tier: number
  readonly #times = new ServiceTimes()
  readonly #line: WaitingLine | null

  constructor(parts: AdmissionParts) {
    const { policies, releasesUnseen } = parts
    this.#parts = parts
    this.#tier = policies.findIndex(countsInFlight)
    const { queue, maxWaitMs } = policies[this.#tier]!
    this.#line = queue === 0 ? null : new WaitingLine({ most: queue, maxWaitMs, looks: releasesUnseen })
  }

  /** True where one may have to wait. */
  get hasLine(): boolean {
    return this.#line !== null
  }

  /**
   * Decides, and takes permits for what is admitted.
   * @param leaver is told how to leave while it waits
   * @param mayWait false where the answer is wanted at once
   * @returns the verdict; null once `leaver` has left
   */
  admit(asking: Asking, leaver: Leaver | null = null, mayWait = true): Verdict | Promise<Verdict | null> {
    const ahead =
      mayWait && checkCost(asking.cost) > 0 ? this.#line?.denialOf(this.#lineOf(asking)) : undefined
    // Nobody overtakes those who wait.
    if (ahead !== undefined) return this.#wait(asking, kept(ahead), leaver)
    const verdict = this.#parts.take(asking, false)
    if (!isPromiseLike<Verdict>(verdict)) return this.#judge(asking, verdict, leaver, mayWait)
    return verdict.then((late) => {
      if (leaver?.hasLeft !== true) return this.#judge(asking, late, leaver, mayWait)
      this.#giveBack(asking, late)
      return null
    })
  }

  /** True for permits whose taking is to be told to `release`. */
  wantsTime(): boolean {
    return this.#times.isDue()
  }

  /** Gives back what was admitted at `since`, on the clock of this process; 0 if that was not wanted. */
  release(key: string, permit: number, cost: number, since: number, result: WorkResult): void {
    if (since !== 0) this.#times.see(this.#parts.now() - since)
    this.#parts.release(key, permit, cost, result)
  }

  /** To be called when permits of a key have come back. */
  released(key: string): void {
    this.#line?.released(key)
  }

  /** Nobody waits any more, now or later. */
  close(): void {
    this.#line?.close()
  }

  #judge(
    asking: Asking,
    verdict: Verdict,
    leaver: Leaver | null,
    mayWait: boolean
  ): Verdict | Promise<Verdict | null> {
    if (verdict.isAllowed) return verdict
    if (mayWait && this.#line !== null && this.#isWorthwhile(verdict, asking))
      return this.#wait(asking, verdict, leaver)
    return this.#estimated(asking, verdict)
  }

  #wait(asking: Asking, denial: Verdict, leaver: Leaver | null): Verdict | Promise<Verdict | null> {
    const line = this.#line!
    if (line.isClosed) return { ...denial, source: 'closed' }
    if (!line.hasRoom(this.#lineOf(asking))) return this.#estimated(asking, denial)
    const wanted = {
      key: this.#lineOf(asking),
      cost: asking.cost,
      take: () => this.#parts.take(asking, true),
      giveBack: (verdict: Verdict) => this.#giveBack(asking, verdict),
      isWorthwhile: (verdict: Verdict) => this.#isWorthwhile(verdict, asking)
    }
    return line
      .join(wanted, kept(denial), leaver)
      .then((verdict) => (verdict === null || verdict.isAllowed ? verdict : this.#estimated(asking, verdict)))
  }

  /** The line of a key; there is one for all where all are counted together. */
  #lineOf({ key }: Asking): string {
    return this.#parts.policies[this.#tier]!.adaptive === null ? key : everyone
  }

  /** Takes back what was given to somebody who has left. */
  #giveBack({ key, cost }: Asking, { permit = 0 }: Verdict): void {
    if (permit !== 0) this.#parts.release(key, permit, cost, 'ignored')
  }

  /** True for a denial that ends once permits come back: no window denies, and there will ever be enough. */
  #isWorthwhile({ isBlocked, source, out }: Verdict, { cost, policies }: Asking): boolean {
    if (isBlocked || source === 'deny' || cost > policies[this.#tier]!.capacity) return false
    return policies.every((_, tier) => tier === this.#tier || out[tier * outSize + Out.retryAfterMs] === 0)
  }

  /** Puts an estimate in the place of a wait that nobody knows. */
  #estimated(asking: Asking, verdict: Verdict): Verdict {
    const at = this.#tier * outSize + Out.retryAfterMs
    if (!Number.isNaN(verdict.out[at])) return verdict
    const ahead = this.#line?.length(this.#lineOf(asking)) ?? 0
    const { capacity } = verdict.policies[this.#tier]!
    // Its own numbers, in every store.
    ;(verdict.out as number[])[at] = this.#times.waitMs(ahead + asking.cost, capacity)
    return verdict
  }
}
