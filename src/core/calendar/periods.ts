/** A day of UTC, ms. */
export const dayMs = 86_400_000

/** What a window of the calendar is. */
export type CalendarUnit = 'day' | 'week' | 'month' | 'year'

/** A day of the week, as `startsOn` has it. */
export type Weekday = 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'

export const weekdays: readonly Weekday[] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday'
]

/**
 * How long a window is taken to be where its own length is not at hand: the most days that it can have. Headers state it
 * as `w`, so that they never promise a quota sooner than it comes.
 */
export const nominalMs: Readonly<Record<CalendarUnit, number>> = {
  day: dayMs,
  week: 7 * dayMs,
  month: 31 * dayMs,
  year: 366 * dayMs
}

/** The windows of a unit, numbered: which one a day is in, and with which day one begins. Days are since 1970-01-01. */
export interface Periods {
  indexOf(day: number): number
  firstDay(index: number): number
}

const days: Periods = { indexOf: (day) => day, firstDay: (index) => index }

/** 1970-01-01 was a Thursday, three days after a Monday. */
function weeks(startsOn: Weekday): Periods {
  const shift = 3 - weekdays.indexOf(startsOn)
  return { indexOf: (day) => Math.floor((day + shift) / 7), firstDay: (index) => index * 7 - shift }
}

/** Months that begin on a day, or on the last one where they are shorter. */
function months(startsOn: number): Periods {
  const firstDay = (index: number) => {
    const last = dayOf(0, index + 1, 0)
    return Math.min(last, dayOf(0, index, 1) + startsOn - 1)
  }
  return {
    indexOf(day) {
      const date = new Date(day * dayMs)
      const index = date.getUTCFullYear() * 12 + date.getUTCMonth()
      return day < firstDay(index) ? index - 1 : index
    },
    firstDay
  }
}

const years: Periods = {
  indexOf: (day) => new Date(day * dayMs).getUTCFullYear(),
  firstDay: (index) => dayOf(index, 0, 1)
}

function dayOf(year: number, month: number, day: number): number {
  const whole = year + Math.floor(month / 12)
  return Date.UTC(whole, month - 12 * Math.floor(month / 12), day) / dayMs
}

/** The windows of a unit; `startsOn` is a day of the month, or of the week. */
export function periodsOf(unit: CalendarUnit, startsOn: number | Weekday | null): Periods {
  switch (unit) {
    case 'day':
      return days
    case 'week':
      return weeks((startsOn as Weekday | null) ?? 'monday')
    case 'month':
      return months((startsOn as number | null) ?? 1)
    default:
      return years
  }
}
