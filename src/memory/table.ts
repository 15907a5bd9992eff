import { type Mover, Segment } from './segment.js'

const firstSize = 128

/** Entries and tombstones for each index: above this a linear probe for an absent key grows long (about 8 steps here). */
const maxLoad = 0.75

/** How many times the room that a segment needs it is given. */
const growth = 1.25

/** The size past which a segment is divided, so that no decision waits for more than this to be copied (bench/flood.js). */
const maxSegmentBytes = 2 ** 18

/** A segment has at least so many indexes, however large its entries are. */
const fewestIndexes = 8

/** Bytes that a key takes at the most where there are many. */
export function bytesPerKey(slots: number): number {
  return ((slots + 1) * 8 * growth) / maxLoad
}

/** True where the numbers at `base` may be forgotten. */
export type IsSpent = (cells: Float64Array, base: number) => boolean

/**
 * A table from 64-bit fingerprints to a few numbers each, that grows a part at a time: fingerprints that agree in their
 * lowest bits have a segment, and a full one is copied to a larger, or to two that agree in one bit more (extendible
 * hashing: Fagin, Nievergelt, Pippenger and Strong, 1979). So there is no long pause, and nothing is reserved.
 */
export class Table {
  /** The segment of the fingerprint that was looked for last. */
  segment: Segment
  /** Entries in use. */
  used = 0
  /** Bytes that it takes. */
  bytes: number
  readonly #slots: number
  readonly #maxSize: number
  readonly #move: Mover
  /** By the lowest bits of a fingerprint; a segment that tells fewer of them apart is there several times. */
  #directory: Segment[]
  #mask = 0
  #turn = 0

  constructor(slots: number, maxKeys: number) {
    this.#slots = slots
    this.#maxSize = Math.max(fewestIndexes, Math.floor(maxSegmentBytes / ((slots + 1) * 8)))
    this.#move = (from, at, to, target) => {
      for (let slot = 0; slot < slots; slot++) to[target + slot] = from[at + slot]!
    }
    const most = Math.max(2, Math.ceil(maxKeys / maxLoad))
    this.segment = new Segment(slots, Math.min(firstSize, this.#maxSize, most), 0)
    this.#directory = [this.segment]
    this.bytes = this.segment.cells.byteLength
  }

  /** Every segment, once. */
  get segments(): ReadonlySet<Segment> {
    return new Set(this.#directory)
  }

  /** The index of a fingerprint in its segment, which is then `segment`; or -1. */
  find(low: number, high: number): number {
    const segment = this.#directory[low & this.#mask]!
    if (segment !== this.segment) this.segment = segment
    return segment.find(low, high)
  }

  /** Adds a fingerprint that was just looked for and is not there; its numbers are zeros. It may drop what `isSpent`. */
  insert(low: number, high: number, isSpent: IsSpent): number {
    if (isCrowded(this.segment)) this.#rebuild(low, isSpent)
    this.used++
    return this.segment.insert(low, high)
  }

  /** The segment whose turn it is in a walk over all of them. */
  get turn(): Segment {
    return this.#directory[this.#turn & this.#mask]!
  }

  /** After how many turns the walk has come to all of them. */
  get turns(): number {
    return this.#directory.length
  }

  /** Gives the turn to the next segment. */
  advance(): void {
    this.#turn++
  }

  /** Removes the entry at an index. */
  remove(segment: Segment, index: number): void {
    segment.remove(index)
    this.used--
  }

  /** Removes what is spent, everywhere. */
  purge(isSpent: IsSpent): void {
    for (const segment of this.segments)
      for (let index = 0; index < segment.size; index++)
        if (segment.isUsed(index) && isSpent(segment.cells, segment.baseOf(index)))
          this.remove(segment, index)
  }

  /** A table of the same entries, laid out anew by `move`. */
  widened(slots: number, maxKeys: number, move: Mover): Table {
    const wider = new Table(slots, maxKeys)
    for (const segment of this.segments)
      for (let index = 0; index < segment.size; index++) {
        if (!segment.isUsed(index)) continue
        const low = segment.lowAt(index)
        wider.find(low, 0)
        if (isCrowded(wider.segment)) wider.#rebuild(low, isNever)
        segment.copy(index, wider.segment, move)
        wider.used++
      }
    return wider
  }

  /** Copies what `segment` holds and is not spent to one of the right size, or to two. */
  #rebuild(low: number, isSpent: IsSpent): void {
    const { segment } = this
    const kept: number[] = []
    for (let index = 0; index < segment.size; index++)
      if (segment.isUsed(index) && !isSpent(segment.cells, segment.baseOf(index))) kept.push(index)
    this.used += kept.length - segment.used
    const size = sizeFor(kept.length + 1)
    // Of entries that agree in far more bits than chance has them agree, a division would part none.
    const isDeep = 2 ** segment.depth > this.used
    if (size <= this.#maxSize || isDeep) this.#replace(low, segment, kept, size)
    else this.#divide(low, segment, kept)
    this.segment = this.#directory[low & this.#mask]!
  }

  #replace(low: number, segment: Segment, kept: readonly number[], size: number): void {
    const next = new Segment(this.#slots, size, segment.depth)
    this.bytes += next.cells.byteLength - segment.cells.byteLength
    for (const index of kept) segment.copy(index, next, this.#move)
    this.#enter(next, low)
  }

  #divide(low: number, segment: Segment, kept: readonly number[]): void {
    const bit = 1 << segment.depth
    const isUpper = (index: number) => (segment.lowAt(index) & bit) !== 0
    if (bit > this.#mask) {
      this.#directory = [...this.#directory, ...this.#directory]
      this.#mask = this.#mask * 2 + 1
    }
    const upper = kept.filter(isUpper).length
    const zero = new Segment(this.#slots, sizeFor(kept.length - upper + 1), segment.depth + 1)
    const one = new Segment(this.#slots, sizeFor(upper + 1), segment.depth + 1)
    this.bytes += zero.cells.byteLength + one.cells.byteLength - segment.cells.byteLength
    for (const index of kept) segment.copy(index, isUpper(index) ? one : zero, this.#move)
    this.#enter(zero, low & ~bit)
    this.#enter(one, low | bit)
  }

  /** Enters a segment where all that agree with `low` in its bits look for it. */
  #enter(segment: Segment, low: number): void {
    const step = 1 << segment.depth
    for (let at = low & (step - 1); at < this.#directory.length; at += step) this.#directory[at] = segment
  }
}

function isCrowded({ used, tombstones, size }: Segment): boolean {
  return used + tombstones + 1 > Math.min(size * maxLoad, size - 1)
}

function sizeFor(keys: number): number {
  return Math.max(2, Math.ceil((keys * growth) / maxLoad))
}

function isNever(): boolean {
  return false
}
