/** Copies the numbers of one entry. */
export type Mover = (from: Float64Array, at: number, to: Float64Array, target: number) => void

/** The second word of a place whose entry was removed; the first is 0, as it is in no fingerprint. */
const grave = 1

/**
 * A part of a table: open addressing from 64-bit fingerprints to a few numbers each. Everything stands in one buffer:
 * an entry is its fingerprint (8 bytes) and its numbers (8 bytes each), so that a look-up touches one place.
 * Linear probing. Nothing moves on removal, so that a walk over the entries misses none: the place stays a stepping stone
 * for others until it is used again, or the segment is copied.
 */
export class Segment {
  /** The numbers; those of the entry at `place` begin at `place * stride + 1`. */
  readonly cells: Float64Array
  /** Numbers an entry, its fingerprint included. */
  readonly stride: number
  /** Places, used or not. */
  readonly size: number
  /** In how many of their lowest bits all fingerprints agree. */
  readonly depth: number
  /** Entries in use. */
  used = 0
  /** Places that were used; they and the entries are always fewer than all. */
  graves = 0
  readonly #words: Int32Array
  readonly #wordStride: number
  readonly #scale: number
  #hand = 0
  readonly #leap: number

  constructor(slots: number, size: number, depth: number) {
    this.stride = slots + 1
    this.size = size
    this.depth = depth
    this.cells = new Float64Array(size * this.stride)
    this.#words = new Int32Array(this.cells.buffer)
    this.#wordStride = this.stride * 2
    this.#scale = size / 2 ** 32
    this.#leap = leapFor(size)
  }

  /** The place of a fingerprint, or -1. */
  find(low: number, high: number): number {
    const words = this.#words
    const step = this.#wordStride
    let place = ((high >>> 0) * this.#scale) >>> 0
    for (let at = place * step; ; at = place * step) {
      const first = words[at]!
      const second = words[at + 1]!
      if (first === low && second === high) return place
      if (first === 0 && second === 0) return -1
      if (++place === this.size) place = 0
    }
  }

  /** Adds a fingerprint that is not there; its numbers are zeros. */
  insert(low: number, high: number): number {
    let place = ((high >>> 0) * this.#scale) >>> 0
    while (this.isUsed(place)) if (++place === this.size) place = 0
    const at = place * this.#wordStride
    if (this.#words[at + 1] === grave) this.graves--
    this.#words[at] = low
    this.#words[at + 1] = high
    this.used++
    return place
  }

  isUsed(place: number): boolean {
    return this.#words[place * this.#wordStride] !== 0
  }

  /** Where the numbers at a place begin. */
  baseOf(place: number): number {
    return place * this.stride + 1
  }

  /** Removes the entry at a place. */
  remove(place: number): void {
    this.cells.fill(0, place * this.stride, (place + 1) * this.stride)
    this.#words[place * this.#wordStride + 1] = grave
    this.used--
    this.graves++
  }

  /**
   * The next place of a walk that comes to every one. It leaps: if it went from neighbour to neighbour, new entries
   * would crowd the part that it has not come to.
   */
  next(): number {
    const hand = this.#hand + this.#leap
    this.#hand = hand < this.size ? hand : hand - this.size
    return this.#hand
  }

  /** The word of the fingerprint at a place by which segments are told apart. */
  lowAt(place: number): number {
    return this.#words[place * this.#wordStride]!
  }

  /** Copies the entry at a place to another segment, its numbers by `move`. */
  copy(place: number, to: Segment, move: Mover): void {
    const at = place * this.#wordStride
    const target = to.insert(this.#words[at]!, this.#words[at + 1]!)
    move(this.cells, this.baseOf(place), to.cells, to.baseOf(target))
  }
}

/** A step of about the golden section of a segment, coprime to its size, so that it comes to every place. */
function leapFor(size: number): number {
  let leap = Math.max(1, Math.round(size * 0.618))
  while (divisor(leap, size) !== 1) leap++
  return leap
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}
