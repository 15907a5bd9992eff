import type { Attachment } from './attachment.js'

/** The shared buffer as what it holds: words to swap, whole numbers of 32 bits, and the numbers of strategies. */
export class SharedMemory {
  readonly words: BigInt64Array
  readonly ints: Int32Array
  readonly numbers: Float64Array
  /** This thread's place in it. */
  attachment!: Attachment
  /** The most keys of each limiter. */
  maxKeys = 0

  constructor(buffer: SharedArrayBuffer) {
    this.words = new BigInt64Array(buffer)
    this.ints = new Int32Array(buffer)
    this.numbers = new Float64Array(buffer)
  }
}

/** Indexes count units of 8 bytes; this many are a cache line. */
export const line = 8

/** The next index that begins a cache line. */
export function aligned(place: number): number {
  return Math.ceil(place / line) * line
}
