import type { NumberReader, NumberWriter } from '../memory/saving/numbers.js'
import { ChainTable, tableLayout } from './chain-table.js'
import { line, type SharedMemory } from './memory.js'
import type { ListedRegion, Regions } from './regions.js'
import { blocksShape } from './shared-blocks.js'
import { numberOf } from './word.js'

/** For so long a limiter that was saved may be opened again, by what others have for the time, ms. */
const longestUnopenedMs = 400 * 86_400_000

/** Words of a tier that are saved: its time, and its lowest limit. */
const tierWords = 2

/**
 * Writes what the limiters of a buffer hold, by whatever thread they were made. What others charge meanwhile may be in it or
 * not.
 */
export function saveRegions(memory: SharedMemory, listed: readonly ListedRegion[], to: NumberWriter): void {
  const times = listed.map((region) =>
    Math.max(...tiersOf(memory, region).filter((_, i) => i % tierWords === 0))
  )
  const latest = Math.max(0, ...times)
  const kept = listed.filter(
    (region, i) =>
      tableLayout(memory, region.table) !== null &&
      (region.isOpened || latest - times[i]! <= longestUnopenedMs)
  )
  to.number(kept.length)
  for (const region of kept) saveRegion(memory, region, to)
}

function saveRegion(memory: SharedMemory, region: ListedRegion, to: NumberWriter): void {
  const { identity, units, tiers, table, blocks, permits } = region
  const { slots, buckets } = tableLayout(memory, table)!
  to.raw(new Float64Array(Int32Array.from(identity).buffer))
  for (const value of [
    units,
    table - tiers,
    blocks - tiers,
    permits < 0 ? -1 : permits - tiers,
    slots,
    buckets
  ])
    to.number(value)
  saveTable(tableOf(memory, region, slots, buckets), slots, to)
  saveTable(blocksOf(memory, region), 1, to)
  // After the records, so that none of them is later than its time.
  for (const value of tiersOf(memory, region)) to.number(value)
  to.number(numberOf(Atomics.load(memory.words, blockTimeOf(region))))
}

/** Reads what was written into a buffer where no limiter was opened yet. */
export function restoreRegions(
  memory: SharedMemory,
  regions: Regions,
  { first, from }: { readonly first: number; readonly from: NumberReader }
): void {
  let begin = first
  for (let count = from.count(); count > 0; count--) {
    const identity = new Int32Array(from.raw(4).slice().buffer)
    const [units, table, blocks, permits, slots, buckets] = Array.from(from.raw(6)) as [
      ...[number, number, number, number, number, number]
    ]
    const region: ListedRegion = {
      ...{ identity, units, tiers: begin, table: begin + table, blocks: begin + blocks, isOpened: false },
      permits: permits < 0 ? -1 : begin + permits
    }
    regions.restore(region)
    restoreTable(tableOf(memory, region, slots, buckets), slots, from)
    restoreTable(blocksOf(memory, region), 1, from)
    for (let tier = begin; tier < region.table; tier += line)
      for (let i = 0; i < tierWords; i++) memory.words[tier + i] = BigInt(from.number())
    memory.words[blockTimeOf(region)] = BigInt(from.number())
    begin += units
  }
}

function tableOf(memory: SharedMemory, { table }: ListedRegion, slots: number, buckets: number): ChainTable {
  // Where nothing is counted in windows there is a table of one key.
  const maxKeys = slots === 0 ? 1 : memory.maxKeys
  return new ChainTable(memory, table, { maxKeys, slots, buckets, hasOverflow: true })
}

function blocksOf(memory: SharedMemory, { blocks }: ListedRegion): ChainTable {
  return new ChainTable(memory, blocks, blocksShape(memory.maxKeys))
}

function blockTimeOf({ blocks }: ListedRegion): number {
  return blocks - line
}

/** The saved words of each tier, one after the other. */
function tiersOf({ words }: SharedMemory, { tiers, table }: ListedRegion): number[] {
  const values: number[] = []
  for (let tier = tiers; tier < table; tier += line)
    for (let i = 0; i < tierWords; i++) values.push(numberOf(Atomics.load(words, tier + i)))
  return values
}

/** Writes records: the bucket, the fingerprint as the bytes of a number, and the numbers of each. */
function saveTable(table: ChainTable, slots: number, to: NumberWriter): void {
  const stride = 2 + slots
  const state = new Float64Array(slots)
  const parts: Float64Array[] = []
  for (let i = 0; i < table.buckets; i++) if (!table.isEmptyAt(i)) parts.push(...recordsAt(table, i, state))
  to.number(parts.length)
  const all = new Float64Array(parts.length * stride)
  for (const [i, part] of parts.entries()) all.set(part, i * stride)
  to.raw(all)
}

/** The records of a bucket as they were at one instant. */
function recordsAt(table: ChainTable, bucket: number, state: Float64Array): Float64Array[] {
  const { swept } = table
  for (;;) {
    const records: Float64Array[] = []
    swept.open(table.bucketAt(bucket))
    swept.rewind()
    while (swept.step() !== 0) {
      swept.read(swept.found, state)
      const record = new Float64Array(2 + state.length)
      record[0] = bucket
      record.set(swept.print, 1)
      record.set(state, 2)
      records.push(record)
    }
    if (swept.isCurrent()) return records
  }
}

function restoreTable(table: ChainTable, slots: number, from: NumberReader): void {
  const word = new Float64Array(1)
  const halves = new Int32Array(word.buffer)
  for (let count = from.count(); count > 0; count--) {
    const bucket = from.number()
    word.set(from.raw(1))
    const numbers = from.raw(slots)
    table.chain.open(table.bucketAt(bucket))
    table.chain.rewind()
    if (halves[0] === 0) table.chain.insert(0, 0, numbers)
    else if (table.reserve()) table.insert(halves[0]!, halves[1]!, numbers)
    table.settle()
  }
}
