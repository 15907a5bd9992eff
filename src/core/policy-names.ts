import { isCalendarUnit, windowMsOf } from './calendar/calendar-options.js'
import { durationText } from './duration.js'
import { HeadgateError } from './errors.js'
import type { Policy } from './policy.js'
import type { PolicyOptions } from './policy-options.js'

/** Names for tiers that were given none: what they allow, `10-per-1s` `10-per-month` or `10-in-flight`. */
export function tierName({ limit, window, concurrency }: PolicyOptions): string {
  if (typeof concurrency === 'object') return 'adaptive-in-flight'
  return concurrency === undefined
    ? `${limit === Number.POSITIVE_INFINITY ? 'unlimited' : limit}-per-${isCalendarUnit(window) ? window : durationText(windowMsOf('window', window))}`
    : `${concurrency}-in-flight`
}

/** @throws HeadgateError `HEADGATE_POLICY_CLASH` where two names differ at most by case */
export function checkUnique(policies: readonly { readonly name: string }[]): void {
  const seen = new Set<string>()
  for (const { name } of policies) {
    if (seen.has(name.toLowerCase()))
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `Two limits of one limiter are named '${name}': give each its own \`name\` (upper and lower case count as equal).`
      )
    seen.add(name.toLowerCase())
  }
}

/** Rules as error messages tell them apart. */
export function shownRules(policies: readonly Policy[]): string {
  return policies
    .map(({ limit, windowMs, unit, calendar, isEndless }) => {
      if (unit === 'concurrent-requests') return `${limit} in flight`
      const most = isEndless ? 'any' : limit
      return calendar === null ? `${most} in ${windowMs} ms` : `${most} a ${calendar.unit}`
    })
    .join(', ')
}
