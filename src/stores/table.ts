const firstSize = 128

/** Entries a bucket: above this a linear probe for an absent key grows long (about 8 steps here). */
const maxLoad = 0.75

/** The same for a table of its largest size, removed entries included: the difference pays for the next rebuilding. */
const maxLoadWithGraves = 0.9

/** The second word of a bucket whose entry was removed; the first is 0, as it is in no fingerprint. */
const grave = 1

/** Copies the numbers of one entry. */
export type Mover = (from: Float64Array, at: number, to: Float64Array, target: number) => void

/** Bytes that a key takes in a full table. */
export function bytesPerKey(slots: number): number {
  return ((slots + 1) * 8) / maxLoad
}

/**
 * An open-addressing table from 64-bit fingerprints to a few numbers each. Everything stands in one buffer: an
 * entry is its fingerprint (8 bytes) and its numbers (8 bytes each), so that a look-up touches one place.
 * Linear probing. Nothing moves on removal, whose cost must not depend on the neighbours: the buckets that it leaves
 * are used again by entries that come by, and cleared away when the table is built anew.
 */
export class Table {
  /** The numbers; those of the entry at `place` begin at `place * stride + 1`. */
  cells: Float64Array = new Float64Array(0)
  /** Numbers an entry, its fingerprint included. */
  readonly stride: number
  /** Entries in use. */
  used = 0
  /** Buckets, used or not. */
  size = 0
  #words: Int32Array = new Int32Array(0)
  #scale = 0
  #graves = 0
  readonly #wordStride: number
  readonly #maxSize: number

  constructor(slots: number, maxKeys: number, firstKeys = 0) {
    this.stride = slots + 1
    this.#wordStride = this.stride * 2
    this.#maxSize = Math.max(2, Math.ceil(maxKeys / maxLoad))
    this.#allocate(Math.min(this.#maxSize, Math.max(firstSize, Math.ceil(firstKeys / maxLoad))))
  }

  /** True if one more entry would make probes long, or endless: then the table is to be built anew first. */
  get isCrowded(): boolean {
    const load = this.size < this.#maxSize ? maxLoad : maxLoadWithGraves
    return this.used + this.#graves + 1 > Math.min(this.size * load, this.size - 1)
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

  /** Adds a fingerprint that is not there; its numbers are zeros. There must be a free bucket. */
  insert(low: number, high: number): number {
    let place = this.#home(high)
    while (this.isUsed(place)) if (++place === this.size) place = 0
    const at = place * this.#wordStride
    if (this.#words[at + 1] === grave) this.#graves--
    this.#words[at] = low
    this.#words[at + 1] = high
    this.used++
    return place
  }

  isUsed(place: number): boolean {
    return this.#words[place * this.#wordStride] !== 0
  }

  /** Makes the numbers at a place zeros. */
  clear(place: number): void {
    this.cells.fill(0, place * this.stride + 1, (place + 1) * this.stride)
  }

  /** Removes the entry at a place. Its bucket stays a stepping stone for others until it is used again. */
  remove(place: number): void {
    const at = place * this.#wordStride
    this.cells.fill(0, place * this.stride, (place + 1) * this.stride)
    this.#words[at + 1] = grave
    this.used--
    this.#graves++
  }

  /**
   * A table of the entries that are not `isSpent`, with twice the buckets that they need.
   * `move` copies an entry's numbers, from a place in the old cells to one in the new.
   */
  rebuilt(slots: number, maxKeys: number, isSpent: (place: number) => boolean, move: Mover): Table {
    const kept: number[] = []
    for (let place = 0; place < this.size; place++)
      if (this.isUsed(place) && !isSpent(place)) kept.push(place)
    const table = new Table(slots, Math.max(maxKeys, kept.length), 2 * kept.length)
    for (const place of kept) {
      const at = place * this.#wordStride
      const target = table.insert(this.#words[at]!, this.#words[at + 1]!)
      move(this.cells, place * this.stride + 1, table.cells, target * table.stride + 1)
    }
    return table
  }

  #home(high: number): number {
    return ((high >>> 0) * this.#scale) >>> 0
  }

  #allocate(size: number): void {
    this.size = size
    this.#scale = size / 2 ** 32
    this.cells = new Float64Array(size * this.stride)
    this.#words = new Int32Array(this.cells.buffer)
  }
}
