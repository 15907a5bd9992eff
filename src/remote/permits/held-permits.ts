import { warnOnce } from '../../core/warn.js'
import type { Location } from '../executor.js'
import { clearTimeout, monotonicMs, setTimeout } from '../time/own-time.js'

const { randomBytes } = process.getBuiltinModule('node:crypto')

/** Permits that were taken together, as a backend knows them. */
export interface PermitId {
  readonly permit: string
  readonly cost: number
}

/** What a backend is told of the permits of this process under one key of a limiter. */
export interface Holding {
  /** That of the limiter: see `LimiterTerms`. */
  readonly name: string
  readonly key: string
  /** Those that are out. They are out for `leaseMs` more; those that are gone are taken again, whatever the limit. */
  readonly held: readonly PermitId[]
  /** Those that were released, which the backend may not know yet. */
  readonly released: readonly PermitId[]
}

/** Who took permits: one limiter. */
export interface PermitOwner {
  readonly name: string
  /** True where each key is renewed by itself. */
  readonly isByKey: boolean
  locate(key: string): Location
  /**
   * Has the store renew permits on keys of one shard.
   * @returns for each that is held, in order, true if it was gone
   */
  renew(location: Location, holdings: readonly Holding[]): Promise<readonly boolean[]>
}

/** Permits that this process has taken, or that the store may take for held. */
interface Held extends PermitId {
  readonly number: number
  readonly owner: PermitOwner
  readonly key: string
  /** False until the store has been told of what was taken here. */
  isKnown: boolean
  /** True once the store may know of them. */
  mayBeKnown: boolean
  isLost: boolean
  isReleased: boolean
  /** When a released one is given up: its lease has ended by then. */
  until: number
}

/** Permits that one call renews at the most: a server takes about a millisecond for them. */
const mostAtOnce = 1000

/** How many times permits are renewed in the time of a lease, and how many after a renewal that failed. */
const renewalsPerLease = 3
const retriesPerLease = 10

/** How soon the store is told of what it may take for held, ms. */
const soonMs = 250

/** What the ids of this process begin with. */
const processId = randomBytes(9).toString('base64url')
let numbers = 0

/**
 * All permits of a store that this process has out. While there are any, the store hears of them three times a lease, in one
 * call for many, and answers which of them it had forgotten.
 */
export class HeldPermits {
  readonly leaseMs: number
  readonly #held = new Map<number, Held>()
  /** Those that were released, and that the store may not know of. */
  readonly #released = new Set<Held>()
  /** Those that are being renewed: a release that overtakes that is told again. */
  readonly #renewing = new Set<Held>()
  #timer: NodeJS.Timeout | null = null
  #dueAt = 0
  #isRunning = false
  #isHurried = false

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs
  }

  /** A number that no other permits of this process have. */
  next(): number {
    return ++numbers
  }

  /** What the store knows them by. */
  idOf(number: number): string {
    return `${processId}:${number.toString(36)}`
  }

  /** The number behind an id of this process. */
  numberOf(permit: string): number {
    return Number.parseInt(permit.slice(processId.length + 1), 36)
  }

  /** Notes what was taken: in the store, or here while that fails. */
  add(number: number, owner: PermitOwner, key: string, cost: number, isKnown: boolean): void {
    const permit = this.idOf(number)
    this.#held.set(number, {
      ...{ permit, number, owner, key, cost, isKnown, mayBeKnown: isKnown },
      ...{ isLost: false, isReleased: false, until: Number.POSITIVE_INFINITY }
    })
    this.#wake(this.leaseMs / renewalsPerLease)
  }

  isLost(number: number): boolean {
    return this.#held.get(number)?.isLost === true
  }

  /**
   * Takes out what is released.
   * @returns what it cost, and whether the store may know of it; undefined if it was released before
   */
  remove(number: number): { readonly cost: number; readonly mayBeKnown: boolean } | undefined {
    const held = this.#held.get(number)
    if (held === undefined) return undefined
    this.#held.delete(number)
    held.isReleased = true
    if (this.#renewing.has(held)) {
      this.#tellLater(held)
      this.#isHurried = true
    }
    return held
  }

  /** Notes permits that the store may take for held, and that are not: it is told soon. */
  addReleased(number: number, owner: PermitOwner, key: string, cost: number): void {
    this.#tellLater({
      ...{ permit: this.idOf(number), number, owner, key, cost, isKnown: true, mayBeKnown: true },
      ...{ isLost: false, isReleased: true, until: 0 }
    })
    this.#wake(soonMs)
  }

  /** Tells the store at once, as it works again. */
  hurry(): void {
    if (this.#held.size + this.#released.size > 0) this.#wake(0)
  }

  /** Renews nothing until more is taken. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #tellLater(held: Held): void {
    held.until = monotonicMs() + 2 * this.leaseMs
    this.#released.add(held)
  }

  #wake(waitMs: number): void {
    if (this.#isRunning) {
      if (waitMs < this.leaseMs / renewalsPerLease) this.#isHurried = true
      return
    }
    const dueAt = monotonicMs() + waitMs
    if (this.#timer !== null) {
      if (this.#dueAt <= dueAt) return
      clearTimeout(this.#timer)
    }
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => this.#run(), waitMs).unref()
  }

  async #run(): Promise<void> {
    this.#timer = null
    this.#isRunning = true
    this.#isHurried = false
    const begun = monotonicMs()
    for (const held of this.#released) if (held.until < begun) this.#released.delete(held)
    const areDone = await Promise.all(this.#groups().map((group) => this.#renewAll(group)))
    this.#isRunning = false
    if (this.#held.size + this.#released.size === 0) return
    const pauseMs = this.leaseMs / (areDone.includes(false) ? retriesPerLease : renewalsPerLease)
    const waitMs = this.#isHurried ? soonMs : pauseMs - (monotonicMs() - begun)
    this.#wake(Math.max(1, waitMs))
  }

  /** What there is to tell, by what can be told in one call. */
  #groups(): Held[][] {
    const groups = new Map<string, Held[]>()
    for (const all of [this.#held.values(), this.#released])
      for (const held of all) {
        const { owner, key } = held
        const { shard, failure } = owner.locate(key)
        const place = owner.isByKey
          ? JSON.stringify([owner.name, key])
          : String(failure === null ? shard : -1)
        const group = groups.get(place)
        if (group === undefined) groups.set(place, [held])
        else group.push(held)
      }
    return [...groups.values()]
  }

  /** Never rejects. @returns false if the store could not be told of all */
  async #renewAll(group: readonly Held[]): Promise<boolean> {
    for (let at = 0; at < group.length; at += mostAtOnce) {
      const part = group.slice(at, at + mostAtOnce)
      try {
        await this.#renew(part)
      } catch {
        return false
      } finally {
        for (const held of part) this.#renewing.delete(held)
      }
    }
    return true
  }

  async #renew(all: readonly Held[]): Promise<void> {
    // What was released while others were renewed is not taken again.
    const [held, released] = [all.filter((one) => !one.isReleased), all.filter((one) => one.isReleased)]
    const sets = new Map<string, { owner: PermitOwner; key: string; held: Held[]; released: Held[] }>()
    for (const one of [...held, ...released]) {
      const { owner, key, isReleased } = one
      const place = JSON.stringify([owner.name, key])
      const set = sets.get(place) ?? { owner, key, held: [], released: [] }
      sets.set(place, set)
      set[isReleased ? 'released' : 'held'].push(one)
      if (!isReleased) this.#renewing.add(one)
      one.mayBeKnown = true
    }
    const { owner, key } = all[0]!
    const location = owner.locate(key)
    if (location.failure !== null) throw location.failure
    const holdings = [...sets.values()].map((set) => ({ ...set, name: set.owner.name }))
    const areGone = await owner.renew(location, holdings)
    let i = 0
    for (const set of sets.values()) for (const one of set.held) this.#hear(one, areGone[i++]!)
    for (const one of released) this.#released.delete(one)
  }

  #hear(held: Held, isGone: boolean): void {
    const { isKnown } = held
    held.isKnown = true
    if (!isGone || !isKnown || held.isReleased) return
    held.isLost = true
    warnOnce(
      'HEADGATE_PERMITS_LOST',
      'The store had forgotten permits that this process holds: it was stopped or cut off for longer than `leaseMs`, or the store lost its data. They are counted again from now on; until then others may have taken their place. `isLost` of a permit says so.'
    )
  }
}
