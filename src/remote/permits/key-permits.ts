import { HeadgateError } from '../../core/errors.js'
import { badOption } from '../../core/options.js'
import type { Policy } from '../../core/policy.js'
import type { Renewal } from '../operation.js'

/** The most permits of a key: whoever takes or releases one reads and writes all that are out. */
export const mostKeyPermits = 1000

const tooMany = `this process reads and writes all permits of a key for each that is taken or released, and more than ${mostKeyPermits} would block its event loop: count in larger units, so that a request costs fewer, or take a store that runs operations itself, such as Redis beside strategies that have a twin in Lua`

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for more permits than a key's state should have */
export function checkConcurrency({ limit }: Policy): void {
  if (limit > mostKeyPermits) throw badOption('concurrency', limit, tooMany)
}

/** @throws HeadgateError `HEADGATE_BAD_LIMIT` for a computed limit that is as large; `Infinity` is no limit */
export function checkComputedConcurrency({ name, limit }: Policy): void {
  if (limit > mostKeyPermits && limit < Number.POSITIVE_INFINITY)
    throw new HeadgateError(
      'HEADGATE_BAD_LIMIT',
      `The concurrency function of policy '${name}' returned ${limit}: ${tooMany}.`
    )
}

/** What the mark of permits has before their cost and id: no mark of a payment begins so. */
const permitMark = 'permit:'

/**
 * The permits of a key that are out, among the marks that its state has: each is remembered until its lease ends, as a payment
 * is until nobody may repeat it.
 */
export function permitsOut(marks: ReadonlyMap<string, number>): number {
  let count = 0
  for (const mark of marks.keys()) count += costOf(mark)
  return count
}

/** The mark of permits. */
export function markOf(permit: string, cost: number): string {
  return `${permitMark}${cost}:${permit}`
}

/** The marks that are of permits. */
export function permitsAmong(marks: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...marks].filter(([mark]) => mark.startsWith(permitMark)))
}

/** Renews leases, takes again those that are gone, and notes which were. */
export function renewMarks(
  marks: Map<string, number>,
  { held, released, leaseMs, areGone }: Renewal,
  now: number
): void {
  for (const [i, { permit, cost }] of held.entries()) {
    const mark = markOf(permit, cost)
    areGone[i] = !marks.has(mark)
    marks.set(mark, now + leaseMs)
  }
  for (const { permit, cost } of released) marks.delete(markOf(permit, cost))
}

function costOf(mark: string): number {
  return mark.startsWith(permitMark) ? Number.parseInt(mark.slice(permitMark.length), 10) : 0
}
