/** Copies the numbers of one entry. */
export type Mover = (from: Float64Array, at: number, to: Float64Array, target: number) => void

/** The second word of an index whose entry was removed; the first is 0, as in no fingerprint. */
const tombstone = 1

/**
 * A part of a table: open addressing from 64-bit fingerprints to a few numbers each. Everything stands in one buffer:
 * an entry is its fingerprint (8 bytes) and its numbers (8 bytes each), so that a look-up touches
 * one part of memory. Linear probing. Nothing moves on removal, so that the clock hand misses no entry: a tombstone keeps
 * the way open to the entries behind it until its index is used again, or the segment is copied.
 */
export class Segment {
  /** The numbers; those of the entry at `index` begin at `index * stride + 1`. */
  readonly cells: Float64Array
  /** Numbers an entry, its fingerprint included. */
  readonly stride: number
  /** How many indexes there are, used or not. */
  readonly size: number
  /** In how many of their lowest bits all fingerprints agree. */
  readonly depth: number
  /** Entries in use. */
  used = 0
  /** Indexes that were used; with the entries they are always fewer than all. */
  tombstones = 0
  readonly #words: Int32Array
  readonly #wordStride: number
  readonly #scale: number
  #hand = 0
  readonly #handStep: number

  constructor(slots: number, size: number, depth: number) {
    this.stride = slots + 1
    this.size = size
    this.depth = depth
    this.cells = new Float64Array(size * this.stride)
    this.#words = new Int32Array(this.cells.buffer)
    this.#wordStride = this.stride * 2
    this.#scale = size / 2 ** 32
    this.#handStep = stepFor(size)
  }

  /** The index of a fingerprint, or -1. */
  find(low: number, high: number): number {
    const words = this.#words
    const step = this.#wordStride
    let index = ((high >>> 0) * this.#scale) >>> 0
    for (let at = index * step; ; at = index * step) {
      const first = words[at]!
      const second = words[at + 1]!
      if (first === low && second === high) return index
      if (first === 0 && second === 0) return -1
      if (++index === this.size) index = 0
    }
  }

  /** Adds a fingerprint that is not there; its numbers are zeros. */
  insert(low: number, high: number): number {
    let index = ((high >>> 0) * this.#scale) >>> 0
    while (this.isUsed(index)) if (++index === this.size) index = 0
    const at = index * this.#wordStride
    if (this.#words[at + 1] === tombstone) this.tombstones--
    this.#words[at] = low
    this.#words[at + 1] = high
    this.used++
    return index
  }

  isUsed(index: number): boolean {
    return this.#words[index * this.#wordStride] !== 0
  }

  /** Where the numbers at an index begin. */
  baseOf(index: number): number {
    return index * this.stride + 1
  }

  /** Removes the entry at an index. */
  remove(index: number): void {
    this.cells.fill(0, index * this.stride, (index + 1) * this.stride)
    this.#words[index * this.#wordStride + 1] = tombstone
    this.used--
    this.tombstones++
  }

  /**
   * Moves the clock hand on, to every index in turn. Not from neighbour to neighbour: new entries would crowd the part
   * that it has yet to come to.
   */
  next(): number {
    const hand = this.#hand + this.#handStep
    this.#hand = hand < this.size ? hand : hand - this.size
    return this.#hand
  }

  /** The word of the fingerprint at an index by which segments are told apart. */
  lowAt(index: number): number {
    return this.#words[index * this.#wordStride]!
  }

  /** Copies the entry at an index to another segment, its numbers by `move`. */
  copy(index: number, to: Segment, move: Mover): void {
    const at = index * this.#wordStride
    const target = to.insert(this.#words[at]!, this.#words[at + 1]!)
    move(this.cells, this.baseOf(index), to.cells, to.baseOf(target))
  }
}

/** A step of about the golden section of a segment, coprime to its size, so that the hand comes to every index. */
function stepFor(size: number): number {
  let step = Math.max(1, Math.round(size * 0.618))
  while (divisor(step, size) !== 1) step++
  return step
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}
