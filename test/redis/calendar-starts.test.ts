import { describe, expect, it } from 'vitest'
import { Calendar } from '../../src/core/calendar/calendar.js'
import { definePolicy, type Policy } from '../../src/core/policy.js'
import { startsAround, turning } from '../../src/redis/scripts/calendar-starts.js'

const day = 86_400_000
const now = Date.UTC(2026, 11, 1)

const calendars = (['day', 'week', 'month', 'year'] as const).map(
  (unit) => new Calendar({ unit, timeZone: 'America/Santiago', startsOn: null })
)

describe.each(calendars)('the starts that Redis is told: $unit', (calendar) => {
  it('have the window of now, the one before it, and two after it', () => {
    for (let at = now; at < now + 800 * day; at += 13 * day + 7_777_777) {
      const starts = startsAround(calendar, at).split(' ').map(Number)
      const open = starts.findLastIndex((start) => start <= at)
      expect([starts[open], starts[open + 1]]).toEqual([
        calendar.windowAt(at).start,
        calendar.windowAt(at).end
      ])
      expect(starts.slice(0, open).length).toBeGreaterThanOrEqual(1)
      expect(starts.slice(open + 1).length).toBeGreaterThanOrEqual(2)
    }
  })

  it('are the same for a long time, and so is the script', () => {
    const seen = new Set<string>()
    for (let i = 0; i < 60; i++) seen.add(startsAround(calendar, now + (i / 60) * 365 * day))
    expect(seen.size).toBeLessThanOrEqual(14)
  })
})

describe('rules that name starts', () => {
  const policies: readonly Policy[] = [definePolicy({ limit: 1, window: 'day' })]

  it('are written anew when the time has come, and not before', () => {
    let time = now
    const made: number[] = []
    const rules = turning(
      policies,
      () => time,
      (at) => {
        made.push(at)
        return { own: `script ${made.length}`, argv: [String(at)] }
      }
    )
    expect([rules.own, rules.argv]).toEqual(['script 1', [String(now)]])
    time += 40 * day
    expect([rules.own, rules.argv]).toEqual(['script 2', [String(time)]])
    expect(rules.own).toBe('script 2')
    expect(made).toEqual([now, now + 40 * day])
  })

  it('are plain where there is no calendar', () => {
    const plain = { own: null, argv: [] }
    const windows = [definePolicy({ limit: 1, window: '1d' })]
    expect(
      turning(
        windows,
        () => now,
        () => plain
      )
    ).toBe(plain)
  })
})
