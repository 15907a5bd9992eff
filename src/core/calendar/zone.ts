import { dayMs } from './periods.js'

/** No zone's clock has ever been further from UTC. */
const furthestMs = 16 * 3_600_000

/** Within so long a clock is changed once at the most. */
const stepMs = 8 * 3_600_000

/** The clock on the wall of a time zone, as `Intl` knows it. */
export class Zone {
  readonly #format: Intl.DateTimeFormat

  /** @throws RangeError for a name that `Intl` does not know */
  constructor(name: string) {
    const numeric = 'numeric'
    this.#format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: name, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric }
    })
  }

  /** The day that the clock shows, in days since 1970-01-01. */
  dayAt(now: number): number {
    return Math.floor((now + this.#aheadAt(now)) / dayMs)
  }

  /**
   * The first instant at which the clock shows this day or a later one. That is midnight, unless the clock was put forward
   * over it, or by whole days; where it is put back over midnight, it is the first of the two.
   */
  startOf(day: number): number {
    const midnight = day * dayMs
    let from = midnight - furthestMs
    let ahead = this.#aheadAt(from)
    for (;;) {
      const to = from + stepMs
      const next = this.#aheadAt(to)
      const change = next === ahead ? to : this.#changeIn(from, to, ahead)
      const before = Math.max(from, midnight - ahead)
      if (before < change) return before
      const after = Math.max(change, midnight - next)
      if (after < to) return after
      from = to
      ahead = next
    }
  }

  /** By how much the clock is ahead of UTC, ms. */
  #aheadAt(now: number): number {
    const second = Math.floor(now / 1000) * 1000
    const [month, day, year, hour, minute, shown] = this.#format.format(second).match(/\d+/g) as string[]
    return Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +shown!) - second
  }

  /** When, after `from`, the clock is no longer so far ahead; at `to` it is not. */
  #changeIn(from: number, to: number, ahead: number): number {
    let before = from
    let after = to
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (this.#aheadAt(middle) === ahead) before = middle
      else after = middle
    }
    return after
  }
}

const zones = new Map<string, Zone>()

/**
 * The zone of a name, made once.
 * @throws RangeError for a name that `Intl` does not know
 */
export function zoneOf(name: string): Zone {
  const zone = zones.get(name) ?? new Zone(name)
  zones.set(name, zone)
  return zone
}
