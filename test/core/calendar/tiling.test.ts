import { describe, expect, it } from 'vitest'
import { Calendar } from '../../../src/core/calendar/calendar.js'
import type { CalendarUnit, Weekday } from '../../../src/core/calendar/periods.js'
import { isWhole } from '../../support/extent.js'

const minute = 60_000
const day = 86_400_000

/** Zones, and how far apart the instants must be that their clocks are looked at, so that no midnight or change is missed. */
const zones: readonly (readonly [string, number])[] = [
  ['UTC', 30],
  ['Europe/Berlin', 30],
  ['Europe/London', 30],
  ['Europe/Dublin', 30],
  ['America/New_York', 30],
  ['America/Los_Angeles', 30],
  ['America/Sao_Paulo', 30],
  ['America/Asuncion', 30],
  ['America/Santiago', 30],
  ['America/Havana', 30],
  ['America/Caracas', 30],
  ['Africa/Cairo', 30],
  ['Africa/Casablanca', 30],
  ['Asia/Beirut', 30],
  ['Asia/Tehran', 30],
  ['Asia/Gaza', 30],
  ['Asia/Kolkata', 30],
  ['Asia/Pyongyang', 30],
  ['Asia/Kathmandu', 15],
  ['Australia/Lord_Howe', 30],
  ['Pacific/Apia', 30],
  ['Pacific/Chatham', 15],
  ['Antarctica/Troll', 30]
]

const from = Date.UTC(2010, 6, 1)
const to = Date.UTC(2020, 6, 1)

/** The day that a zone's clock shows, by another formatter than the code's. */
function shownBy(zone: string): (now: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  return (now) => Date.parse(`${format.format(now)}T00:00:00Z`) / day
}

/** In the short form no instant is looked at for so long after a day has begun: none is shorter. */
const skipped = isWhole ? 0 : 20 * 60 * minute

/** By the definition: for each day the first instant at which the clock shows it, or a later one. */
function daysOf(zone: string, minutes: number, begin: number, end: number): Map<number, number> {
  const shown = shownBy(zone)
  const starts = new Map<number, number>()
  let latest = shown(begin)
  for (let now = begin; now < end; now += minutes * minute) {
    const today = shown(now)
    if (latest === today) continue
    for (; latest < today; latest++) starts.set(latest + 1, now)
    now += skipped
  }
  return starts
}

/** The windows of a calendar, one after the other. */
function windowsOf(
  unit: CalendarUnit,
  timeZone: string,
  startsOn: number | Weekday | null,
  begin: number,
  end: number
) {
  const calendar = new Calendar({ unit, timeZone, startsOn })
  const windows = [calendar.windowAt(begin)]
  while (windows.at(-1)!.end <= end) {
    const last = windows.at(-1)!
    const next = calendar.windowAt(last.end)
    // What is asked about out of turn gives the same.
    if (windows.length % 8 === 0)
      expect(new Calendar({ unit, timeZone, startsOn }).windowAt(next.end - 1)).toEqual(next)
    if (next.start !== last.end || next.end <= next.start) throw new Error(`after ${last.start}`)
    windows.push(next)
  }
  return windows
}

/** Which of some days begin a week or a month. */
function begins(unit: CalendarUnit, startsOn: number | Weekday | null, date: number): boolean {
  const at = new Date(date * day)
  const tomorrow = new Date((date + 1) * day)
  switch (unit) {
    case 'day':
      return true
    case 'week':
      return at.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' }).toLowerCase() === startsOn
    case 'month':
      return (
        at.getUTCDate() === startsOn ||
        (tomorrow.getUTCDate() === 1 && at.getUTCDate() < (startsOn as number))
      )
    default:
      return at.getUTCDate() === 1 && at.getUTCMonth() === 0
  }
}

/** The starts of a unit, by those of days; days that a calendar leaves out begin with the next. */
function expected(
  days: Map<number, number>,
  unit: CalendarUnit,
  startsOn: number | Weekday | null
): readonly number[] {
  const starts = [...days].filter(([date]) => begins(unit, startsOn, date)).map(([, start]) => start)
  return [...new Set(starts)]
}

describe('windows of the calendar tile time', () => {
  it.each(zones)(
    '%s over ten years',
    (zone, minutes) => {
      const days = daysOf(zone, minutes, from, to)
      for (const [unit, startsOn] of [
        ['day', null],
        ['week', 'monday'],
        ['week', 'sunday'],
        ['month', 1],
        ['month', 31],
        ['month', 30],
        ['year', null]
      ] as const) {
        const wanted = expected(days, unit, startsOn)
        const got = windowsOf(unit, zone, startsOn, wanted[0]!, wanted.at(-1)!).map(({ start }) => start)
        expect(got.slice(0, wanted.length), `${unit} from ${startsOn}`).toEqual(wanted)
      }
    },
    60_000
  )

  it('St. John’s, whose clock went back a minute after midnight', () => {
    // 2010-11-07 00:01, back to 2010-11-06 23:01.
    const begin = Date.UTC(2010, 10, 5)
    const end = Date.UTC(2010, 10, 10)
    const days = daysOf('America/St_Johns', 1, begin, end)
    const first = Date.UTC(2010, 10, 7, 2, 30)
    expect(days.get(Date.UTC(2010, 10, 7) / day)).toBe(first)
    const got = windowsOf('day', 'America/St_Johns', null, [...days.values()][0]!, end)
    expect(got.map(({ start }) => start).slice(0, days.size)).toEqual([...days.values()])
  })
})
