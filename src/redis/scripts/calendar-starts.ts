import type { Calendar } from '../../core/calendar/calendar.js'
import type { CalendarUnit } from '../../core/calendar/periods.js'
import type { Clock } from '../../core/clock.js'
import type { Policy } from '../../core/policy.js'

/**
 * So many windows of a unit are told to the server at once. They are always the same ones, so that all processes write the
 * same script, and it is another one only now and then.
 */
const windowsAPage: Readonly<Record<CalendarUnit, number>> = { day: 32, week: 16, month: 12, year: 8 }

/** Starts before and after those of a page: the server's clock may be another. */
const before = 1
const after = 2

/** The starts of windows around an instant, as lua/calendar-window.lua reads them. */
export function startsAround(calendar: Calendar, now: number): string {
  const page = pageOf(calendar, now)
  const size = windowsAPage[calendar.unit]
  const first = page * size - before
  return Array.from({ length: before + size + after }, (_, i) => calendar.startOf(first + i)).join(' ')
}

/** When the starts around an instant are to be told anew: what it is equal for has the same. */
function pageOf(calendar: Calendar, now: number): number {
  return Math.floor(calendar.windowAt(now).index / windowsAPage[calendar.unit])
}

/** The pages that some policies are on, for comparison; '' where none goes by a calendar. */
function pagesOf(policies: readonly Policy[], now: number): string {
  let pages = ''
  for (const { calendar } of policies) if (calendar !== null) pages += `${pageOf(calendar, now)} `
  return pages
}

/** What is written for a server that goes by a calendar. */
interface Written {
  readonly own: unknown
  readonly argv: unknown
}

/** Rules that are written anew when one of their calendars has turned a page; as they are made where they have none. */
export function turning<Rules extends Written>(
  policies: readonly Policy[],
  clock: Clock,
  make: (now: number) => Rules
): Rules {
  if (policies.every(({ calendar }) => calendar === null)) return make(0)
  let now = clock()
  let pages = pagesOf(policies, now)
  let made = make(now)
  const current = () => {
    now = clock()
    const open = pagesOf(policies, now)
    if (open !== pages) {
      pages = open
      made = make(now)
    }
    return made
  }
  return Object.defineProperties(
    { ...made },
    { own: { get: () => current().own }, argv: { get: () => current().argv } }
  )
}
