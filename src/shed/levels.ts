/** Shares are whole thousandths, so that what is shed is exactly the share. */
const whole = 1000

/** What a level rises by at a pressure of 1, and at twice that or more. */
const slowRise = 250
const fastRise = 500

/** What it comes back by, a sample: twenty samples for one priority. */
const fall = 50

/** Below this pressure it comes back; between this and 1 it stays where it is. */
export const easedPressure = 0.8

/** What levels are about. */
export interface LevelTerms {
  /** How many priorities there are. */
  readonly count: number
  /** True where the highest may be shed as well, last. */
  readonly shedsHighest: boolean
}

/**
 * How much of each priority is shed. One level rises with pressure and comes back slowly: its first whole is the share of
 * the lowest priority, the second that of the next, and so on, so one is shed whole before the next loses anything.
 * Priorities that no request has had are passed over.
 *
 * Pressure is what was measured, as a part of its threshold. From 1 on the level rises, by a quarter of a priority a sample
 * and by half of one from twice the threshold on. Below 0.8 it comes back by a twentieth. In between it stays, so what shedding brings
 * about does not at once undo it.
 */
export class Levels {
  #level = 0
  readonly #count: number
  readonly #most: number
  /** By rank, the thousandths of a request that are still to be shed. */
  readonly #debts: number[]
  /** The rank of the lowest priority that requests have had; -1 before the first. */
  #lowestSeen = -1

  constructor({ count, shedsHighest }: LevelTerms) {
    this.#count = count
    this.#most = (shedsHighest ? count : count - 1) * whole
    this.#debts = Array.from({ length: count }, () => 0)
  }

  /** In priorities: 1.5 sheds the lowest and half of the next. */
  get level(): number {
    return this.#level / whole
  }

  /** The rank of the lowest priority that there are requests of and some are admitted; -1 where there is none. */
  get lowestOpen(): number {
    return Math.min(this.#lowestSeen, this.#count - 1 - Math.floor(this.#level / whole))
  }

  /** True where nothing is left to shed. */
  get isFull(): boolean {
    return this.#level === this.#most
  }

  /** Takes a sample into account. */
  step(pressure: number): void {
    if (pressure >= 1) {
      const rise = Math.min(Math.round(slowRise * pressure), fastRise)
      this.#level = Math.min(this.#most, Math.max(this.#level, this.#idle) + rise)
    } else if (pressure < easedPressure) {
      const level = this.#level - fall
      this.#level = level <= this.#idle ? 0 : level
    }
  }

  /** Up to where the level sheds nobody, as no request is of so low a priority; 0 where it would shed nobody at all. */
  get #idle(): number {
    const idle = (this.#count - 1 - this.#lowestSeen) * whole
    return idle < this.#most ? idle : 0
  }

  clear(): void {
    this.#level = 0
  }

  /** What part of a priority is shed, 0 to 1. */
  shareOf(rank: number): number {
    return this.#thousandths(rank) / whole
  }

  /** Has it known that there are requests of a priority. */
  see(rank: number): void {
    if (rank > this.#lowestSeen) this.#lowestSeen = rank
  }

  /** True if this request is one of the share: of a share of 0.25 every fourth is. */
  sheds(rank: number): boolean {
    const share = this.#thousandths(rank)
    if (share === 0) return false
    const debt = this.#debts[rank]! + share
    const isDue = debt >= whole
    this.#debts[rank] = isDue ? debt - whole : debt
    return isDue
  }

  #thousandths(rank: number): number {
    const below = this.#count - 1 - rank
    return Math.min(whole, Math.max(0, this.#level - below * whole))
  }
}
