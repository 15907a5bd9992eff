import { describe, expect, it } from 'vitest'
import { Calendar } from '../../../src/core/calendar/calendar.js'
import type { CalendarUnit, Weekday } from '../../../src/core/calendar/periods.js'

function windowAt(
  unit: CalendarUnit,
  timeZone: string,
  at: string,
  startsOn: number | Weekday | null = null
): string[] {
  const { start, end } = new Calendar({ unit, timeZone, startsOn }).windowAt(Date.parse(at))
  return [start, end].map((time) => new Date(time).toISOString().replace(':00.000Z', 'Z'))
}

describe('a window of the calendar', () => {
  it('is a day of the zone, of 23 or 25 hours where its clock is changed', () => {
    expect(windowAt('day', 'Europe/Berlin', '2026-03-29T12:00Z')).toEqual([
      '2026-03-28T23:00Z',
      '2026-03-29T22:00Z'
    ])
    expect(windowAt('day', 'Europe/Berlin', '2026-10-25T12:00Z')).toEqual([
      '2026-10-24T22:00Z',
      '2026-10-25T23:00Z'
    ])
  })

  it('begins where the clock was put forward over midnight', () => {
    // 2018-11-04 began at one o'clock.
    expect(windowAt('day', 'America/Sao_Paulo', '2018-11-04T12:00Z')).toEqual([
      '2018-11-04T03:00Z',
      '2018-11-05T02:00Z'
    ])
  })

  it('goes on where the clock was put back over midnight', () => {
    // 2018-02-18 00:00 became 2018-02-17 23:00, so that the day had 25 hours.
    expect(windowAt('day', 'America/Sao_Paulo', '2018-02-18T02:30Z')).toEqual([
      '2018-02-17T02:00Z',
      '2018-02-18T03:00Z'
    ])
  })

  it('knows of a day that was left out', () => {
    // Samoa had no 2011-12-30.
    expect(windowAt('day', 'Pacific/Apia', '2011-12-30T09:00Z')).toEqual([
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z'
    ])
    expect(windowAt('day', 'Pacific/Apia', '2011-12-30T10:00Z')).toEqual([
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z'
    ])
    expect(windowAt('month', 'Pacific/Apia', '2011-12-30T09:00Z', 30)).toEqual([
      '2011-11-30T10:00Z',
      '2011-12-30T10:00Z'
    ])
  })

  it('is a month from a day on, or from its last day', () => {
    expect(windowAt('month', 'UTC', '2024-02-15T00:00Z', 31)).toEqual([
      '2024-01-31T00:00Z',
      '2024-02-29T00:00Z'
    ])
    expect(windowAt('month', 'UTC', '2023-02-28T00:00Z', 31)).toEqual([
      '2023-02-28T00:00Z',
      '2023-03-31T00:00Z'
    ])
    expect(windowAt('month', 'Asia/Kathmandu', '2026-01-31T18:15Z')).toEqual([
      '2026-01-31T18:15Z',
      '2026-02-28T18:15Z'
    ])
  })

  it('is a week from a day on, and a year with its leap day', () => {
    expect(windowAt('week', 'UTC', '2026-08-01T00:00Z')).toEqual(['2026-07-27T00:00Z', '2026-08-03T00:00Z'])
    expect(windowAt('week', 'UTC', '2026-08-01T00:00Z', 'saturday')).toEqual([
      '2026-08-01T00:00Z',
      '2026-08-08T00:00Z'
    ])
    expect(windowAt('year', 'Asia/Tokyo', '2024-06-01T00:00Z')).toEqual([
      '2023-12-31T15:00Z',
      '2024-12-31T15:00Z'
    ])
  })

  it('is the same object as long as it lasts', () => {
    const calendar = new Calendar({ unit: 'month', timeZone: 'Europe/Berlin', startsOn: 15 })
    const window = calendar.windowAt(Date.UTC(2026, 5, 20))
    expect(calendar.windowAt(window.start)).toBe(window)
    expect(calendar.windowAt(window.end - 1)).toBe(window)
    expect(calendar.windowAt(window.end)).not.toBe(window)
  })
})
