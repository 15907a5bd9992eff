import { type BansOptions, type BansPage, readPage } from '../core/bans/listing.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import { badOption } from '../core/options.js'
import { isPromiseLike } from './promise.js'

/**
 * A page of the bans of several limiters, one for each length of a window: those of the first, then of the next. A place in
 * the list is the number of the limiter, and the place in its list.
 */
export function bansOfAll(
  limiters: readonly BuiltLimiter[],
  options: BansOptions = {}
): BansPage | Promise<BansPage> {
  const { after, limit } = readPage(options)
  const [, number, place] = /^(\d{1,4})(?:\|(.*))?$/s.exec(after ?? '0') ?? []
  if (number === undefined) throw badOption('after', after, 'give the `next` of the page before')
  const limiter = limiters[Number(number)]
  if (limiter === undefined) return { bans: [], next: null }
  const page = limiter.bans(place === undefined ? { limit } : { after: place, limit })
  const next = (found: BansPage): BansPage => ({
    bans: found.bans,
    next: nextOf(found, Number(number), limiters)
  })
  return isPromiseLike<BansPage>(page) ? page.then(next) : next(page)
}

function nextOf({ next }: BansPage, number: number, limiters: readonly BuiltLimiter[]): string | null {
  if (next !== null) return `${number}|${next}`
  return number + 1 < limiters.length ? String(number + 1) : null
}
