import type { Rule } from '../strategy.js'

/*
 * The runs of a sliding log. An entry of the ring is `time · counts + count`: a time within the window, and how many units
 * there have been up to it, both modulo what fits. Runs are younger than a window when the last one is charged, so that
 * their times are unambiguous, and there are fewer units than counts.
 */

/** What precedes the ring. */
export const Field = { head: 0, runs: 1, size: 2, most: 3, latest: 4 } as const

/** Where the ring begins. */
export const ring = 5

/** How many entries it has at first: each time that it grows it takes twice the slots, with what precedes it. */
export const firstSize = 8 - ring

/** Entries for the origin and a run for each unit, or each ms. */
export function longestRing(units: number, { windowMs }: Rule): number {
  return 1 + Math.min(units, windowMs)
}

/**
 * How many counts an entry tells apart: `time · counts + count` takes all of a double's 53 bits. Its quotient by them is
 * further from the next whole number than half a double's last bit, so that rounding it down is exact.
 */
export function countsOf(windowMs: number): number {
  return Math.floor(2 ** 53 / windowMs)
}

function phaseOf(now: number, windowMs: number): number {
  return now - Math.floor(now / windowMs) * windowMs
}

function indexOf(state: Float64Array, at: number, entry: number): number {
  const size = state[at + Field.size]!
  const place = state[at + Field.head]! + entry
  return at + ring + (place < size ? place : place - size)
}

function timeIn(state: Float64Array, at: number, counts: number, entry: number): number {
  return Math.floor(state[indexOf(state, at, entry)]! / counts)
}

function countIn(state: Float64Array, at: number, counts: number, entry: number): number {
  const packed = state[indexOf(state, at, entry)]!
  return packed - Math.floor(packed / counts) * counts
}

/** A sum of counts, which begin anew when an entry has no room for more; neither step leaves the whole numbers of a double. */
function sumOf(count: number, units: number, counts: number): number {
  return count >= counts - units ? count - (counts - units) : count + units
}

/** How long before the last charge a run was. */
export function ageOf(
  state: Float64Array,
  at: number,
  windowMs: number,
  counts: number,
  run: number
): number {
  const age = phaseOf(state[at + Field.latest]!, windowMs) - timeIn(state, at, counts, run)
  return age < 0 ? age + windowMs : age
}

/** The units of the runs after entry `from`, up to run `to`. */
export function unitsIn(state: Float64Array, at: number, counts: number, from: number, to: number): number {
  const units = countIn(state, at, counts, to) - countIn(state, at, counts, from)
  return units < 0 ? units + counts : units
}

/** The first run after entry `from` with which there are so many units. */
export function runOf(state: Float64Array, at: number, counts: number, from: number, units: number): number {
  let low = from + 1
  if (units === 1) return low
  let high = state[at + Field.runs]!
  while (low < high) {
    const middle = (low + high) >>> 1
    if (unitsIn(state, at, counts, from, middle) >= units) high = middle
    else low = middle + 1
  }
  return low
}

/** How many runs are of so many ms before the last charge, or older. */
export function olderThan(state: Float64Array, at: number, { windowMs }: Rule, age: number): number {
  const counts = countsOf(windowMs)
  let low = 0
  let high = state[at + Field.runs]!
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (ageOf(state, at, windowMs, counts, middle) >= age) low = middle
    else high = middle - 1
  }
  return low
}

/** How many runs have left the window. */
export function expired(state: Float64Array, at: number, rule: Rule, now: number): number {
  if (state[at + Field.runs] === 0) return 0
  const age = state[at + Field.latest]! + rule.windowMs - now
  if (age <= 0) return state[at + Field.runs]!
  const { windowMs } = rule
  return ageOf(state, at, windowMs, countsOf(windowMs), 1) < age ? 0 : olderThan(state, at, rule, age)
}

/** Drops the oldest runs: the last of them becomes the origin. */
export function drop(state: Float64Array, at: number, runs: number): void {
  if (runs === 0) return
  state[at] = indexOf(state, at, runs) - at - ring
  state[at + Field.runs]! -= runs
}

/** Drops the oldest units. */
export function dropUnits(state: Float64Array, at: number, rule: Rule, units: number): void {
  const counts = countsOf(rule.windowMs)
  const run = runOf(state, at, counts, 0, units)
  const rest = unitsIn(state, at, counts, 0, run) - units
  drop(state, at, rest === 0 ? run : run - 1)
  if (rest > 0) state[indexOf(state, at, 0)] = sumOf(countIn(state, at, counts, 1), counts - rest, counts)
}

/** Adds units of now: to the last run if it is of this ms. */
export function append(state: Float64Array, at: number, rule: Rule, now: number, units: number): void {
  const { windowMs } = rule
  const counts = countsOf(windowMs)
  const runs = state[at + Field.runs]!
  const size = state[at + Field.size]!
  const count = sumOf(countIn(state, at, counts, runs), units, counts)
  const isSame =
    runs > 0 && state[at + Field.latest] === now && ageOf(state, at, windowMs, counts, runs) === 0
  if (!isSame && runs + 2 > size)
    resize(state, at, largerSize(size, longestRing(state[at + Field.most]!, rule)))
  const run = isSame ? runs : runs + 1
  state[at + Field.latest] = now
  state[at + Field.runs] = run
  state[indexOf(state, at, run)] = phaseOf(now, windowMs) * counts + count
}

/** The size that the ring grows to, up to the longest. */
export function largerSize(size: number, longest: number): number {
  return Math.min(size < firstSize ? firstSize : 2 * size + ring, longest)
}

/** The size that it shrinks to. */
export function smallerSize(size: number): number {
  return Math.max(firstSize, Math.floor((size - ring) / 2))
}

/** Keeps every second run, with the units of the one before it, until a ring of this size has an entry to spare. */
export function thin(state: Float64Array, at: number, size: number): void {
  for (let runs = state[at + Field.runs]!; runs > 1 && runs + 2 > size; runs = state[at + Field.runs]!) {
    for (let run = 1; 2 * run <= runs + 1; run++)
      state[indexOf(state, at, run)] = state[indexOf(state, at, Math.min(2 * run, runs))]!
    state[at + Field.runs] = Math.ceil(runs / 2)
  }
  const held = state[at + Field.size]!
  // A ring that is full grows into the room that there is, even if that is less than it would take.
  if (held > size || state[at + Field.runs]! + 2 > held) resize(state, at, size)
}

/** Gives the ring another size, for all that it holds. */
export function resize(state: Float64Array, at: number, next: number): void {
  const begin = at + ring
  const head = state[at]!
  const size = state[at + Field.size]!
  const entries = state[at + Field.runs]! + 1
  state[at + Field.size] = next
  if (head + entries > size) {
    // What is at the end of the ring stays there.
    state[at] = head + next - size
    state.copyWithin(begin + head + next - size, begin + head, begin + size)
  } else if (head + entries > next) {
    state[at] = 0
    state.copyWithin(begin, begin + head, begin + head + entries)
  }
}

/** Takes units back, so that so many are left up to run `end`. */
export function takeBack(state: Float64Array, at: number, rule: Rule, end: number, left: number): void {
  const counts = countsOf(rule.windowMs)
  const given = unitsIn(state, at, counts, 0, end) - left
  const last = left === 0 ? 0 : runOf(state, at, counts, 0, left)
  const runs = state[at + Field.runs]!
  if (last > 0) {
    const count = sumOf(countIn(state, at, counts, 0), left, counts)
    state[indexOf(state, at, last)] = timeIn(state, at, counts, last) * counts + count
  }
  for (let run = end + 1; run <= runs; run++) {
    const count = sumOf(countIn(state, at, counts, run), counts - given, counts)
    state[indexOf(state, at, last + run - end)] = timeIn(state, at, counts, run) * counts + count
  }
  state[at + Field.runs] = last + runs - end
}
