import ms from 'ms'
import { badOption } from './options.js'

/** A span of time: a whole number of milliseconds, or a text with a unit such as `'500ms'`, `'15m'`, `'1 day'`. */
export type Duration = number | string

const wanted =
  "give a positive whole number of milliseconds, or a text with a unit such as '30s', '15m', '1h', '1d'"

const unitsKnown = 'units are ms, s, m, h, d, w and y, or their words, such as second or minutes'

/**
 * Milliseconds of a duration.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for anything that is not a positive, finite, whole number of them
 */
export function durationMs(option: string, value: unknown): number {
  const parsed = typeof value === 'string' ? textMs(value) : value
  if (Number.isSafeInteger(parsed) && (parsed as number) > 0) return parsed as number
  throw badOption(option, value, fixFor(value))
}

function fixFor(value: unknown): string {
  const [, number, unit] = (typeof value === 'string' && /^\s*([\d.]*)\s*([a-zµ]*)\s*$/i.exec(value)) || []
  if (number === undefined || (number === '' && unit === '')) return wanted
  if (unit === '') return `it has no unit: write '${number}s' or '${number}m', or a number of milliseconds`
  if (number === '') return `a unit needs its number, as in '30s' or '1 minute'; ${unitsKnown}`
  return textMs(`1${unit}`) === undefined ? `'${unit}' is no unit: ${unitsKnown}` : wanted
}

function textMs(text: string): number | undefined {
  const hasUnit = /[a-z]\s*$/i.test(text) && text.length <= 100
  return hasUnit ? (ms as (text: string) => number | undefined)(text) : undefined
}

const units: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000]
]

/** The shortest exact text of a duration: 60000 is `1m`, 1500 is `1500ms`. */
export function durationText(valueMs: number): string {
  for (const [unit, size] of units) if (valueMs % size === 0) return `${valueMs / size}${unit}`
  return `${valueMs}ms`
}
