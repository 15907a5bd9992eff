import { describe, expect, it } from 'vitest'
import type { MakeStore } from '../clocked-store.js'
import { admitted, suited, T } from './limiter-on.js'

const at = (text: string) => Date.parse(text) - T
const day = 86_400_000

/** What the clock of a zone shows. */
const shownIn = (zone: string) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  return (ms: number) => format.format(T + ms)
}

/** Numbers that look drawn at random, and are the same each time. */
function drawn(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Windows of the calendar. */
export function calendarCases(name: string, makeStore: MakeStore): void {
  const { on } = suited(makeStore)

  describe(`${name}: windows of the calendar`, () => {
    it('end with the month of the zone', async () => {
      const { hit, hits } = on({ limit: 2, window: 'month', timeZone: 'Europe/Berlin' })
      const end = at('2023-11-30T23:00Z')
      expect(await hit(0)).toMatchObject({ allowed: true, limit: 2, remaining: 1, resetMs: end })
      expect(admitted(await hits(2, at('2023-11-20T00:00Z')))).toEqual([200, 429])
      expect(await hit(end - 1)).toMatchObject({ allowed: false, retryAfterMs: 1, resetMs: 1 })
      const next = at('2023-12-31T23:00Z')
      expect(await hit(end)).toMatchObject({ allowed: true, remaining: 1, resetMs: next - end })
    })

    it('of a day have 23 hours where the clock goes forward, and 25 where it goes back', async () => {
      const { hit } = on({ limit: 1, window: 'day', timeZone: 'America/New_York' })
      expect((await hit(at('2024-03-10T05:00Z'))).resetMs).toBe(23 * 3_600_000)
      expect((await hit(at('2024-03-11T03:59Z'))).allowed).toBe(false)
      expect((await hit(at('2024-03-11T04:00Z'))).resetMs).toBe(day)
      expect((await hit(at('2024-11-03T04:00Z'))).resetMs).toBe(25 * 3_600_000)
      expect((await hit(at('2024-11-04T04:59Z'))).allowed).toBe(false)
      expect((await hit(at('2024-11-04T05:00Z'))).allowed).toBe(true)
    })

    it('of a month may begin on its 31st, or else its last', async () => {
      const { hit } = on({ limit: 1, window: 'month', startsOn: 31 })
      expect((await hit(at('2024-01-31T00:00Z'))).resetMs).toBe(29 * day)
      expect((await hit(at('2024-02-29T00:00Z'))).resetMs).toBe(31 * day)
      expect((await hit(at('2024-03-31T00:00Z'))).resetMs).toBe(30 * day)
    })

    it('are decided together', async () => {
      const { hit } = on({
        limits: [
          { limit: 2, window: 'day', timeZone: 'Asia/Kathmandu' },
          { limit: 3, window: 'week', startsOn: 'sunday', timeZone: 'Asia/Kathmandu' },
          { limit: 100, window: '1h' }
        ]
      })
      // Saturday evening there.
      const saturday = at('2023-11-25T17:00Z')
      const [first, second, third] = [await hit(saturday), await hit(saturday), await hit(saturday)]
      expect(admitted([first, second, third])).toEqual([200, 200, 429])
      expect(third.retryAfterMs).toBe(at('2023-11-25T18:15Z') - saturday)
      const sunday = await hit(at('2023-11-25T18:15Z'))
      expect(sunday).toMatchObject({ allowed: true })
      expect(sunday.tiers.map(({ remaining }) => remaining)).toEqual([1, 2, 99])
    })

    it('give back within their window alone', async () => {
      const { at: moved, hit } = on({ limit: 5, window: 'month', timeZone: 'Asia/Tokyo' })
      const november = at('2023-11-30T14:59Z')
      const december = at('2023-11-30T15:00Z')
      await hit(november, 'A', 3)
      await hit(december, 'A', 3)
      await moved(december + 1).refund('A', 3, T + november)
      expect((await moved(december + 1).peek('A')).remaining).toBe(2)
      await moved(december + 1).refund('A', 2, T + december)
      expect((await moved(december + 1).peek('A')).remaining).toBe(4)
    })

    it.each([
      ['day', 10, 'Australia/Lord_Howe'],
      ['day', 10, 'America/Havana'],
      ['month', 7, 'Pacific/Chatham'],
      ['year', 4, 'Africa/Casablanca']
    ] as const)('count what the clock shows, %s (%i of the date) in %s', async (window, length, timeZone) => {
      const limit = 4
      const shown = shownIn(timeZone)
      const { hit } = on({ limit, window, timeZone })
      const draw = drawn(7)
      const stepMs = { day: day / 5, month: 5 * day, year: 60 * day }[window]
      let now = 0
      let open = ''
      let count = 0
      for (let i = 0; i < 60; i++) {
        now += draw(stepMs)
        const date = shown(now).slice(0, length)
        if (date !== open) count = 0
        open = date
        const cost = 1 + draw(2)
        const isAllowed = count + cost <= limit
        if (isAllowed) count += cost
        const decision = await hit(now, 'A', cost)
        expect(decision).toMatchObject({ allowed: isAllowed, remaining: limit - count })
        expect(shown(now + decision.resetMs - 1).slice(0, length)).toBe(date)
        expect(shown(now + decision.resetMs).slice(0, length)).not.toBe(date)
      }
    })
  })
}
