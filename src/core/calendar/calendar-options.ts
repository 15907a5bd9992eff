import { durationMs } from '../duration.js'
import { badOption } from '../options.js'
import { fixedWindow } from '../strategies/fixed-window.js'
import type { Strategy } from '../strategy.js'
import { Calendar } from './calendar.js'
import { type CalendarUnit, nominalMs, type Weekday, weekdays } from './periods.js'

/** The options of a policy that windows of the calendar go by. */
export interface CalendarPolicyOptions {
  readonly window: unknown
  readonly timeZone?: unknown
  readonly startsOn?: unknown
  readonly align?: unknown
}

/** True for what names a window of the calendar. */
export function isCalendarUnit(value: unknown): value is CalendarUnit {
  return typeof value === 'string' && Object.hasOwn(nominalMs, value)
}

/** What people write for a unit of the calendar that is not the word. */
const otherWords: readonly (readonly [RegExp, CalendarUnit])[] = [
  [/^\s*(day|daily)\s*$/i, 'day'],
  [/^\s*(week|weekly)\s*$/i, 'week'],
  [/^\s*1?\s*(mo|mon|month|months|monthly)\s*$/i, 'month'],
  [/^\s*(year|yearly|annual|annually)\s*$/i, 'year']
]

/**
 * The length of a window, ms; of one of the calendar the most days that it can have.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function windowMsOf(option: string, value: unknown): number {
  if (isCalendarUnit(value)) return nominalMs[value]
  const [, meant] = (typeof value === 'string' && otherWords.find(([pattern]) => pattern.test(value))) || []
  if (meant !== undefined)
    throw badOption(option, value, `for each ${meant} of the calendar write '${meant}'`)
  return durationMs(option, value)
}

/**
 * The calendar that a policy goes by; null where its window is a span of time.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function readCalendar(options: CalendarPolicyOptions, strategy: Strategy): Calendar | null {
  const { window: unit, timeZone = 'UTC', startsOn, align } = options
  if (!isCalendarUnit(unit)) {
    for (const name of ['timeZone', 'startsOn'] as const)
      if (options[name] !== undefined)
        throw badOption(
          name,
          options[name],
          "it is of windows of the calendar: write `window: 'day'`, 'week', 'month' or 'year', or leave it out"
        )
    return null
  }
  if (strategy !== fixedWindow)
    throw badOption(
      'strategy',
      strategy.name,
      `a ${unit} of the calendar is a fixed window: leave it out, or give a length such as \`window: '30d'\``
    )
  if (align === 'first-request')
    throw badOption(
      'align',
      align,
      `a ${unit} of the calendar begins with the calendar: leave it out, or give a length such as \`window: '30d'\``
    )
  return calendarOf(unit, timeZone, startsOn === undefined ? null : startsOnOf(unit, startsOn))
}

function calendarOf(unit: CalendarUnit, timeZone: unknown, startsOn: number | Weekday | null): Calendar {
  const fix = "give a name of the IANA time zone database, such as 'Europe/Berlin'"
  if (typeof timeZone !== 'string') throw badOption('timeZone', timeZone, fix)
  try {
    return new Calendar({ unit, timeZone, startsOn })
  } catch {
    throw badOption('timeZone', timeZone, `this Node does not know it: ${fix}`)
  }
}

/** With what a month or a week begins. */
function startsOnOf(unit: CalendarUnit, value: unknown): number | Weekday {
  if (unit === 'month') {
    if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 31) return value as number
    throw badOption('startsOn', value, 'a month begins on one of its days: give a number from 1 to 31')
  }
  if (unit === 'week') {
    if (weekdays.includes(value as Weekday)) return value as Weekday
    throw badOption('startsOn', value, "a week begins on a day: give 'monday' to 'sunday', in small letters")
  }
  throw badOption('startsOn', value, `a ${unit} begins where it does in the calendar; leave it out`)
}
