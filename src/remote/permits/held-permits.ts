import { warnOnce } from '../../core/warn.js'
import { clearTimeout, monotonicMs, setTimeout } from '../time/own-time.js'
import { callsFor, type HeldPermit, type PermitOwner, type RenewalCall } from './holdings.js'
import { idOf } from './permit-ids.js'

/** How many times permits are renewed in the time of a lease. */
export const renewalsPerLease = 3

/** How many times that is tried in such a time, once it has failed. */
const retriesPerLease = 10

/** How soon the store learns that something is not held after all, ms. */
const soonMs = 250

/**
 * All permits of a store that this process has out. While there are any, the store hears of them three times a lease, in one
 * call for many, and answers which of them it had forgotten.
 */
export class HeldPermits {
  readonly leaseMs: number
  readonly #held = new Map<number, HeldPermit>()
  /** Those that were released, and that the store may not know of. */
  readonly #released = new Set<HeldPermit>()
  /** Those that are being renewed: a release that overtakes that is told again. */
  readonly #renewing = new Set<HeldPermit>()
  #timer: NodeJS.Timeout | null = null
  #wakesAt = 0
  /** When what is held is to be renewed, on the monotonic clock; until then only releases are told. */
  #renewAt = 0
  #isRunning = false
  #isHurried = false

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs
  }

  /**
   * Notes what was taken.
   * @param askedAt when the store was asked for it, on the monotonic clock; null for what was taken here while it fails
   */
  add(number: number, owner: PermitOwner, key: string, cost: number, askedAt: number | null): void {
    const held = heldPermit(number, owner, key, cost, askedAt !== null)
    if (askedAt !== null) held.endsAt = askedAt + this.leaseMs
    this.#held.set(number, held)
    this.#wake(this.leaseMs / renewalsPerLease)
  }

  /** True for what may be lost: the store has said so, or was not heard of for as long as a lease. */
  isLost(number: number): boolean {
    const held = this.#held.get(number)
    if (held === undefined) return false
    if (monotonicMs() >= held.endsAt) held.isLost = true
    return held.isLost
  }

  /**
   * Takes out what is released.
   * @returns what was taken out; undefined if it was before
   */
  remove(number: number): Readonly<HeldPermit> | undefined {
    const held = this.#held.get(number)
    if (held === undefined) return undefined
    this.#held.delete(number)
    held.isReleased = true
    if (this.#renewing.has(held)) this.#tellLater(held)
    return held
  }

  /** Notes permits that the store may take for held, and that are not: it is told soon. */
  addReleased(number: number, owner: PermitOwner, key: string, cost: number): void {
    const held = heldPermit(number, owner, key, cost, true)
    held.isReleased = true
    this.#tellLater(held)
  }

  /** Tells the store at once, as it works again. */
  hurry(): void {
    // Where one renewal fails and the next finds the node working, they must not chase each other.
    this.#renewAt = this.#isRunning ? Math.min(this.#renewAt, monotonicMs() + this.#pauseMs) : 0
    if (this.#held.size + this.#released.size > 0) this.#wake(0)
  }

  /** Renews nothing until more is taken. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  get #pauseMs(): number {
    return Math.min(soonMs, this.leaseMs / retriesPerLease)
  }

  #tellLater(held: HeldPermit): void {
    held.until = monotonicMs() + 2 * this.leaseMs
    this.#released.add(held)
    this.#wake(soonMs)
  }

  #wake(waitMs: number): void {
    if (this.#isRunning) {
      if (waitMs <= soonMs) this.#isHurried = true
      return
    }
    const wakesAt = monotonicMs() + waitMs
    if (this.#timer !== null) {
      if (this.#wakesAt <= wakesAt) return
      clearTimeout(this.#timer)
    }
    this.#wakesAt = wakesAt
    this.#timer = setTimeout(() => this.#run(), Math.max(1, waitMs)).unref()
  }

  async #run(): Promise<void> {
    this.#timer = null
    this.#isRunning = true
    this.#isHurried = false
    const begun = monotonicMs()
    for (const held of this.#released) if (held.until < begun) this.#released.delete(held)
    const isDue = begun >= this.#renewAt
    this.#renewAt = isDue ? Number.POSITIVE_INFINITY : this.#renewAt
    const calls = callsFor(isDue ? [...this.#held.values(), ...this.#released] : this.#released)
    const areDone = await Promise.all(calls.map((call) => this.#renew(call)))
    const retryMs = this.leaseMs / retriesPerLease
    const pauseMs = areDone.includes(false) ? retryMs : this.leaseMs / renewalsPerLease
    if (this.#renewAt > begun + pauseMs) this.#renewAt = begun + pauseMs
    this.#isRunning = false
    const leftMs = this.#renewAt - monotonicMs()
    if (this.#released.size > 0) this.#wake(Math.min(leftMs, this.#isHurried ? soonMs : retryMs))
    else if (this.#held.size > 0) this.#wake(leftMs)
  }

  /** Never rejects. @returns false if the store could not be told */
  async #renew({ owner, location, holdings }: RenewalCall): Promise<boolean> {
    const held = holdings.flatMap((holding) => holding.held)
    for (const one of held) {
      one.mayBeKnown = true
      this.#renewing.add(one)
    }
    try {
      if (location.failure !== null) return false
      // A lease begins when the store is told, which is after this.
      const askedAt = monotonicMs()
      const areGone = await owner.renew(location, holdings)
      for (const [i, one] of held.entries()) hear(one, areGone[i] === true, askedAt + this.leaseMs)
      for (const { released } of holdings) for (const one of released) this.#released.delete(one)
      return true
    } catch {
      return false
    } finally {
      for (const one of held) this.#renewing.delete(one)
    }
  }
}

function heldPermit(
  number: number,
  owner: PermitOwner,
  key: string,
  cost: number,
  isKnown: boolean
): HeldPermit {
  return {
    ...{ permit: idOf(number), cost, owner, key, isKnown, mayBeKnown: isKnown },
    ...{ endsAt: Number.POSITIVE_INFINITY, isLost: false, isReleased: false, until: Number.POSITIVE_INFINITY }
  }
}

/** What was taken here is new to the store, and not lost. */
function hear(held: HeldPermit, isGone: boolean, endsAt: number): void {
  const { isKnown, isReleased } = held
  if (monotonicMs() >= held.endsAt) held.isLost = true
  held.isKnown = true
  held.endsAt = endsAt
  if (!isGone || !isKnown || isReleased) return
  held.isLost = true
  warnOnce(
    'HEADGATE_PERMITS_LOST',
    'The store had forgotten permits that this process holds: it was stopped or cut off for longer than `leaseMs`, or the store lost its data. They are counted again from now on; until then others may have taken their place. `isLost` of a permit says so.'
  )
}
