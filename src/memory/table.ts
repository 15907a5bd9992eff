import { type Mover, Segment } from './segment.js'

const firstSize = 128

/** Entries, removed ones included, a place: above this a linear probe for an absent key grows long (about 8 steps here). */
const maxLoad = 0.75

/** Places that a segment is given for each that it needs. */
const growth = 1.25

/** The size past which a segment is divided, so that no decision waits for more than this to be copied (bench/flood.js). */
const maxSegmentBytes = 2 ** 18

/** A segment has at least so many places, however large they are. */
const fewestPlaces = 8

/** Bytes that a key takes at the most where there are many. */
export function bytesPerKey(slots: number): number {
  return ((slots + 1) * 8 * growth) / maxLoad
}

/** True where the numbers at `base` have nothing left to say. */
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
  readonly #slots: number
  readonly #maxPlaces: number
  readonly #move: Mover
  /** By the lowest bits of a fingerprint; a segment that tells fewer of them apart stands in several places. */
  #directory: Segment[]
  #mask = 0
  #turn = 0

  constructor(slots: number, maxKeys: number) {
    this.#slots = slots
    this.#maxPlaces = Math.max(fewestPlaces, Math.floor(maxSegmentBytes / ((slots + 1) * 8)))
    this.#move = (from, at, to, target) => {
      for (let slot = 0; slot < slots; slot++) to[target + slot] = from[at + slot]!
    }
    const most = Math.max(2, Math.ceil(maxKeys / maxLoad))
    this.segment = new Segment(slots, Math.min(firstSize, this.#maxPlaces, most), 0)
    this.#directory = [this.segment]
  }

  /** Every segment, once. */
  get segments(): ReadonlySet<Segment> {
    return new Set(this.#directory)
  }

  /** The place of a fingerprint in its segment, which is then `segment`; or -1. */
  find(low: number, high: number): number {
    const segment = this.#directory[low & this.#mask]!
    if (segment !== this.segment) this.segment = segment
    return segment.find(low, high)
  }

  /** Adds a fingerprint that was just looked for and is not there; its numbers are zeros. It may drop what is spent. */
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

  /** Removes the entry at a place. */
  remove(segment: Segment, place: number): void {
    segment.remove(place)
    this.used--
  }

  /** Removes what is spent, everywhere. */
  purge(isSpent: IsSpent): void {
    for (const segment of this.segments)
      for (let place = 0; place < segment.size; place++)
        if (segment.isUsed(place) && isSpent(segment.cells, segment.baseOf(place)))
          this.remove(segment, place)
  }

  /** A table of the same entries, laid out anew by `move`. */
  widened(slots: number, maxKeys: number, move: Mover): Table {
    const wider = new Table(slots, maxKeys)
    for (const segment of this.segments)
      for (let place = 0; place < segment.size; place++) {
        if (!segment.isUsed(place)) continue
        const low = segment.lowAt(place)
        wider.find(low, 0)
        if (isCrowded(wider.segment)) wider.#rebuild(low, isNever)
        segment.copy(place, wider.segment, move)
        wider.used++
      }
    return wider
  }

  /** Copies what `segment` holds and is not spent to one of the right size, or to two. */
  #rebuild(low: number, isSpent: IsSpent): void {
    const { segment } = this
    const kept: number[] = []
    for (let place = 0; place < segment.size; place++)
      if (segment.isUsed(place) && !isSpent(segment.cells, segment.baseOf(place))) kept.push(place)
    this.used += kept.length - segment.used
    const size = sizeFor(kept.length + 1)
    // Of entries that agree in far more bits than chance has them agree, a division would part none.
    const isDeep = 2 ** segment.depth > this.used
    if (size <= this.#maxPlaces || isDeep) this.#replace(low, segment, kept, size)
    else this.#divide(low, segment, kept)
    this.segment = this.#directory[low & this.#mask]!
  }

  #replace(low: number, segment: Segment, kept: readonly number[], size: number): void {
    const next = new Segment(this.#slots, size, segment.depth)
    for (const place of kept) segment.copy(place, next, this.#move)
    this.#enter(next, low)
  }

  #divide(low: number, segment: Segment, kept: readonly number[]): void {
    const bit = 1 << segment.depth
    const isUpper = (place: number) => (segment.lowAt(place) & bit) !== 0
    if (bit > this.#mask) {
      this.#directory = [...this.#directory, ...this.#directory]
      this.#mask = this.#mask * 2 + 1
    }
    const upper = kept.filter(isUpper).length
    const zero = new Segment(this.#slots, sizeFor(kept.length - upper + 1), segment.depth + 1)
    const one = new Segment(this.#slots, sizeFor(upper + 1), segment.depth + 1)
    for (const place of kept) segment.copy(place, isUpper(place) ? one : zero, this.#move)
    this.#enter(zero, low & ~bit)
    this.#enter(one, low | bit)
  }

  /** Puts a segment where all that agree with `low` in its bits look for it. */
  #enter(segment: Segment, low: number): void {
    const step = 1 << segment.depth
    for (let at = low & (step - 1); at < this.#directory.length; at += step) this.#directory[at] = segment
  }
}

function isCrowded({ used, graves, size }: Segment): boolean {
  return used + graves + 1 > Math.min(size * maxLoad, size - 1)
}

function sizeFor(keys: number): number {
  return Math.max(2, Math.ceil((keys * growth) / maxLoad))
}

function isNever(): boolean {
  return false
}
