import { banTermsOf } from '../../core/bans/ban-record.js'
import { calendarWindow } from '../../core/strategies/calendar-window.js'
import { closed, open } from '../../core/strategies/constant.js'
import { endlessOf } from '../../core/strategies/endless.js'
import { fixedWindow } from '../../core/strategies/fixed-window.js'
import { gcra } from '../../core/strategies/gcra.js'
import { leakyBucket } from '../../core/strategies/leaky-bucket.js'
import { slidingLog } from '../../core/strategies/sliding-log.js'
import { slidingWindow } from '../../core/strategies/sliding-window.js'
import { tokenBucket } from '../../core/strategies/token-bucket.js'
import type { Strategy } from '../../core/strategy.js'
import banRecordLua from '../lua/ban-record.lua'
import calendarWindowLua from '../lua/calendar-window.lua'
import closedLua from '../lua/closed.lua'
import debt from '../lua/debt.lua'
import endlessLua from '../lua/endless.lua'
import exact from '../lua/exact.lua'
import fixedWindowLua from '../lua/fixed-window.lua'
import gcraLua from '../lua/gcra.lua'
import leakyBucketLua from '../lua/leaky-bucket.lua'
import openLua from '../lua/open.lua'
import slidingLogLua from '../lua/sliding-log.lua'
import slidingWindowLua from '../lua/sliding-window.lua'
import tokenBucketLua from '../lua/token-bucket.lua'

const tokenBucketTwin = exact + debt + tokenBucketLua

/** The Lua of the built-in strategies, in the form of `Strategy.lua`. */
const twins: ReadonlyMap<Strategy, string> = new Map([
  [fixedWindow, fixedWindowLua],
  [calendarWindow, calendarWindowLua],
  [slidingWindow, exact + slidingWindowLua],
  [slidingLog, slidingLogLua],
  [tokenBucket, tokenBucketTwin],
  [leakyBucket, `${exact}local tokenBucket = ${called(tokenBucketTwin)}${leakyBucketLua}`],
  [gcra, exact + debt + gcraLua],
  [endlessOf(fixedWindow)!, `local window = ${called(fixedWindowLua)}${endlessLua}`],
  [endlessOf(slidingWindow)!, `local window = ${called(exact + slidingWindowLua)}${endlessLua}`],
  [open, openLua],
  [closed, closedLua]
])

/** The Lua of a strategy, built in or the user's: a chunk that returns `{ check, charge, refund }`. */
export function twinOf(strategy: Strategy): string | undefined {
  return twins.get(strategy) ?? banTwinOf(strategy) ?? strategy.lua
}

/** True for the built-in strategies. */
export function isTwin(strategy: Strategy): boolean {
  return twins.has(strategy) || banTermsOf(strategy) !== undefined
}

/** The Lua of a strategy that remembers denials, with its terms written into it. */
function banTwinOf(strategy: Strategy): string | undefined {
  const terms = banTermsOf(strategy)
  if (terms === undefined) return undefined
  const { firstMs, growth, longestMs, forgetMs } = terms
  return `local firstMs, growth, longestMs, forgetMs = ${[firstMs, growth, longestMs, forgetMs].join(', ')}\n${banRecordLua}`
}

/** A chunk as an expression, whose locals are its own. */
export function called(chunk: string): string {
  return `(function()\n${chunk}\nend)()\n`
}
