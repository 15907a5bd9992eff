import type { Bucket } from '../../core/bucket.js'
import { withLimit } from '../../core/policy.js'
import type { KeyTable } from '../key-table.js'
import type { NumberReader, NumberWriter } from './numbers.js'

/** Entries that are put together before they are written. */
const chunkNumbers = 2 ** 15

/** Writes the time of each tier, the lowest limit that it charged under, and its slots. */
export function saveTiers({ tiers, lowest, verdict }: Bucket, to: NumberWriter): void {
  to.number(verdict.at)
  to.number(tiers.length)
  for (const [i, { steady, slots }] of tiers.entries())
    for (const value of [...steady.saved, lowest.limitOf(i), slots]) to.number(value)
}

/** Reads them into a bucket; gives the slots that each tier had. */
export function restoreTiers({ tiers, lowest, verdict }: Bucket, from: NumberReader): readonly number[] {
  verdict.at = from.number()
  const count = from.count()
  return Array.from({ length: count }, (_, i) => {
    const [latest, offset, limit] = from.raw(3) as unknown as [number, number, number]
    const { steady } = tiers[i]!
    if (latest >= 0) steady.restore(latest, offset)
    const policy = lowest.policies[i]!
    if (Number.isFinite(limit)) lowest.seeTier(i, limit === policy.limit ? policy : withLimit(policy, limit))
    return from.count()
  })
}

/**
 * Writes the keys that owe something: of each its fingerprint, and of each tier the numbers it needs after their count.
 * @returns when the last of them owes nothing any more, on the clock of the limiter
 */
export function saveKeys(keys: KeyTable, bucket: Bucket, to: NumberWriter): number {
  let chunk = new Float64Array(chunkNumbers)
  let used = 0
  let count = 0
  let longestMs = 0
  const chunks: Float64Array[] = []
  const room = (numbers: number) => {
    if (used + numbers <= chunk.length) return
    chunks.push(chunk.subarray(0, used))
    chunk = new Float64Array(Math.max(chunkNumbers, numbers))
    used = 0
  }
  forEachEntry(keys, (print, cells, base) => {
    const owedMs = longestOwed(bucket, cells, base)
    if (owedMs === 0) return
    count++
    longestMs = Math.max(longestMs, owedMs)
    room(1)
    chunk.set(print, used++)
    for (let i = 0; i < bucket.tiers.length; i++) {
      const { offset, slots } = bucket.tiers[i]!
      const policy = bucket.lowest.policies[i]!
      const needs = policy.strategy.growth?.needs(cells, base + offset, policy) ?? slots
      room(1 + needs)
      chunk[used++] = needs
      chunk.set(cells.subarray(base + offset, base + offset + needs), used)
      used += needs
    }
  })
  to.number(count)
  for (const part of [...chunks, chunk.subarray(0, used)]) to.raw(part)
  return bucket.verdict.at + longestMs
}

/**
 * Reads them, each into `numbers`, the slots of all tiers side by side.
 * @param take takes up the key that was read
 */
export function restoreKeys(
  keys: KeyTable,
  bucket: Bucket,
  from: NumberReader,
  numbers: Float64Array,
  take: () => void
): void {
  const word = new Float64Array(1)
  const halves = new Int32Array(word.buffer)
  const offsets = bucket.tiers.map(({ offset }) => offset)
  for (let count = from.count(); count > 0; count--) {
    word.set(from.raw(1))
    keys.print.low = halves[0]!
    keys.print.high = halves[1]!
    numbers.fill(0)
    for (const offset of offsets) numbers.set(from.raw(from.count()), offset)
    take()
  }
}

/** For how long an entry owes anything. */
function longestOwed({ tiers, lowest }: Bucket, cells: Float64Array, base: number): number {
  let longest = 0
  for (let i = 0; i < tiers.length; i++) {
    const ms = tiers[i]!.resetMs(cells, base, lowest.policies[i]!)
    if (ms > 0) longest = Math.max(longest, ms + tiers[i]!.steady.lag)
  }
  return longest
}

/** Visits each entry: its fingerprint, as the bytes of a number, and where its numbers are. */
function forEachEntry(
  { table, growing }: KeyTable,
  visit: (print: Float64Array, cells: Float64Array, base: number) => void
): void {
  for (const segment of table.segments)
    for (let index = 0; index < segment.size; index++) {
      if (!segment.isUsed(index)) continue
      const base = segment.baseOf(index)
      const print = segment.cells.subarray(base - 1, base)
      growing?.find(segment.cells, base)
      visit(print, growing?.cells ?? segment.cells, growing?.base ?? base)
    }
}
