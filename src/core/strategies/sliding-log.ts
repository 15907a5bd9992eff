import { badOption } from '../options.js'
import type { Rule, Strategy } from '../strategy.js'
import {
  ageOf,
  append,
  countsOf,
  drop,
  dropUnits,
  expired,
  Field,
  firstSize,
  largerSize,
  longestRing,
  olderThan,
  resize,
  ring,
  runOf,
  smallerSize,
  takeBack,
  thin,
  unitsIn
} from './runs.js'

/**
 * Promise: at most `limit` units in every window that ends at any instant, exactly.
 * State: `[head, runs, size, most, latest, ring…]`. Units of one ms are one run, and a run is one number: when it was,
 * within a window, and how many units there have been up to it. So a charge is one step whatever it costs, what has
 * expired and what is to be waited for are each found by bisection, and nothing is walked. The ring has `size` entries,
 * the oldest at `head`: an origin, of which only the count means anything, then the runs. It grows as they do. `most` is
 * the largest limit since the log was empty, `latest` the last charge.
 * Weakness: eight bytes per ms in which a key was charged, up to the limit or the window's length.
 */
export const slidingLog: Strategy = {
  name: 'sliding-log',
  slots: (rule) => ring + longestRing(rule.limit, rule),
  validate: checkRuns,
  growth: {
    needs,
    thin: (state, at, _rule, room) => thin(state, at, room - ring)
  },

  check(state, at, rule, now, cost, out) {
    return answer(state, at, rule, now, cost, out, expired(state, at, rule, now))
  },

  take(state, at, rule, now, cost, out) {
    const gone = expired(state, at, rule, now)
    const live = unitsIn(state, at, countsOf(rule.windowMs), gone, state[at + Field.runs]!)
    if (live + cost > rule.limit) return answer(state, at, rule, now, cost, out, gone)
    open(state, at, rule, gone)
    append(state, at, rule, now, cost)
    out[0] = rule.limit - live - cost
    out[1] = 0
    out[2] = rule.windowMs
    return true
  },

  charge(state, at, rule, now, cost, out) {
    open(state, at, rule, expired(state, at, rule, now))
    const units = Math.min(cost, rule.limit)
    const live = unitsIn(state, at, countsOf(rule.windowMs), 0, state[at + Field.runs]!)
    const most = state[at + Field.most]!
    if (live + units > most) dropUnits(state, at, rule, live + units - most)
    append(state, at, rule, now, units)
    out[0] = Math.max(0, rule.limit - Math.min(most, live + units))
    out[2] = rule.windowMs
  },

  refund(state, at, rule, now, cost, chargedAt) {
    drop(state, at, expired(state, at, rule, now))
    const runs = state[at + Field.runs]!
    const end = olderThan(state, at, rule, state[at + Field.latest]! - chargedAt)
    const held = unitsIn(state, at, countsOf(rule.windowMs), 0, end)
    const given = Math.min(cost, held)
    if (given === 0) return
    if (runs - end > mostWalked) dropUnits(state, at, rule, given)
    else takeBack(state, at, rule, end, held - given)
  }
}

/** The most that it may have: 8 MiB. */
const mostRuns = 2 ** 20

/**
 * Runs after those that a refund is taken from, at the most: each of them changes. Where there are more, it is taken
 * from the oldest units: that leaves as many, of which some stay for longer.
 */
const mostWalked = 1024

function needs(state: Float64Array, at: number, rule: Rule): number {
  const runs = state[at + Field.runs]!
  const size = runs === 0 ? 1 : state[at + Field.size]!
  const most = runs === 0 ? rule.limit : Math.max(rule.limit, state[at + Field.most]!)
  return ring + (runs + 2 > size ? largerSize(size, longestRing(most, rule)) : size)
}

function checkRuns({ limit, windowMs }: Rule): void {
  const fitting = countsOf(windowMs) - 1
  if (limit > fitting)
    throw badOption(
      'limit',
      limit,
      `strategy 'sliding-log' counts at most ${fitting} units in ${windowMs} ms exactly, as do 'sliding-window' and 'gcra': take 'fixed-window', or a smaller limit`
    )
  const runs = Math.min(limit, windowMs)
  if (runs > mostRuns)
    throw badOption(
      'limit',
      limit,
      `strategy 'sliding-log' may keep ${runs} numbers for each key under it, of ${mostRuns} at most: take 'sliding-window' or 'gcra', whose keys are a few numbers, or a smaller limit`
    )
}

/** What a log says of which so many runs have left the window. */
function answer(
  state: Float64Array,
  at: number,
  rule: Rule,
  now: number,
  cost: number,
  out: Float64Array,
  gone: number
): boolean {
  const runs = state[at + Field.runs]!
  if (gone === runs) return answerEmpty(rule, out)
  const { limit, windowMs } = rule
  const counts = countsOf(windowMs)
  const live = unitsIn(state, at, counts, gone, runs)
  const over = live + cost - limit
  const ahead = state[at + Field.latest]! + windowMs - now
  out[0] = live < limit ? limit - live : 0
  out[1] = 0
  out[2] = ahead - ageOf(state, at, windowMs, counts, runs)
  if (over <= 0) return true
  out[1] = ahead - ageOf(state, at, windowMs, counts, runOf(state, at, counts, gone, over))
  return false
}

function answerEmpty({ limit }: Rule, out: Float64Array): boolean {
  out[0] = limit
  out[1] = 0
  out[2] = 0
  return true
}

/** Drops what has expired, and prepares for a charge. An empty log is as one that was never used. */
function open(state: Float64Array, at: number, rule: Rule, gone: number): void {
  drop(state, at, gone)
  if (state[at + Field.runs] === 0) {
    state.fill(0, at, at + ring + 1)
    state[at + Field.size] = 1
  }
  if (state[at + Field.most]! < rule.limit) state[at + Field.most] = rule.limit
  const entries = state[at + Field.runs]! + 1
  const size = state[at + Field.size]!
  if (size > firstSize && entries * 4 <= size) resize(state, at, smallerSize(size))
}
