import { type CalendarUnit, type Periods, periodsOf, type Weekday } from './periods.js'
import { type Zone, zoneOf } from './zone.js'

/** A window of the calendar, from its start to before its end, which is the start of the next; epoch ms. */
export interface CalendarWindow {
  readonly start: number
  readonly end: number
  /** Its number among the windows of its unit. */
  readonly index: number
}

/** What the windows of a calendar are. */
export interface CalendarOptions {
  readonly unit: CalendarUnit
  /** A name of the IANA time zone database. */
  readonly timeZone: string
  /** With which day of the month, or of the week, they begin; null for the first, for Monday, and for other units. */
  readonly startsOn: number | Weekday | null
}

/**
 * Days, weeks, months or years of the calendar in a time zone. A window begins at the first instant at which the zone's clock
 * shows its first day, or a later one; so windows tile time without gap or overlap, whatever is done to the clock. All is
 * read from `Intl`, once a window.
 */
export class Calendar {
  readonly unit: CalendarUnit
  readonly timeZone: string
  /** What tells it from others: the same in every process, whatever it calls a zone that has several names. */
  readonly rule: readonly unknown[]
  readonly #zone: Zone
  readonly #periods: Periods
  /** The window that was asked for last: most requests are in one. */
  #window: CalendarWindow = { start: 0, end: 0, index: 0 }

  /** @throws RangeError for an unknown zone */
  constructor({ unit, timeZone, startsOn }: CalendarOptions) {
    this.unit = unit
    this.timeZone = timeZone
    this.rule = [unit, timeZone, startsOn]
    this.#zone = zoneOf(timeZone)
    this.#periods = periodsOf(unit, startsOn)
  }

  /** The window that an instant is in. */
  windowAt(now: number): CalendarWindow {
    const window = this.#window
    return now >= window.start && now < window.end ? window : this.#turnTo(now)
  }

  /** When a window begins, by its number. One whose days were all left out of the calendar ends at once. */
  startOf(index: number): number {
    return this.#zone.startOf(this.#periods.firstDay(index))
  }

  #turnTo(now: number): CalendarWindow {
    let index = this.#periods.indexOf(this.#zone.dayAt(now))
    let start = this.startOf(index)
    let end = this.startOf(index + 1)
    // A clock that was put back over midnight shows a day that is over.
    while (end <= now) {
      index++
      start = end
      end = this.startOf(index + 1)
    }
    this.#window = { start, end, index }
    return this.#window
  }
}
