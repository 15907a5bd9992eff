/*
 * Keys are known by a 64-bit fingerprint under a secret seed: no text is kept, and nobody outside can aim for a
 * collision. Two keys among n share one with a probability of about n² / 2^65, which is 3 · 10^-8 for a million keys;
 * sharing can only make the limit stricter for both.
 */

const { randomFillSync } = process.getBuiltinModule('node:crypto')

/** Drawn for each process. */
export const ownSeed: Int32Array = randomFillSync(new Int32Array(4))

/** The fingerprint of the key at hand: two 32-bit words, of which the first is not 0. */
export class Fingerprint {
  low = 0
  high = 0
  /** The key itself: who comes once often comes again next (bench/decision.js, hot). */
  #key = ''
  readonly #multiplierA: number
  readonly #multiplierB: number
  readonly #startA: number
  readonly #startB: number

  /** @param seed four random words, which nobody outside may know */
  constructor(seed: Int32Array) {
    this.#multiplierA = seed[0]! | 1
    this.#multiplierB = seed[1]! | 1
    this.#startA = seed[2]!
    this.#startB = seed[3]!
  }

  /** Takes up a key. */
  of(key: string): void {
    if (key === this.#key) return
    this.#key = key
    this.#hash(key)
  }

  /**
   * A difference between two keys is spread by a shift before each multiplication, so that what it becomes depends on
   * the seed whichever bit it is in.
   */
  #hash(key: string): void {
    const { length } = key
    const multiplierA = this.#multiplierA
    const multiplierB = this.#multiplierB
    let a = this.#startA ^ length
    let b = this.#startB
    let i = 1
    for (; i < length; i += 2) {
      const first = key.charCodeAt(i - 1)
      const second = key.charCodeAt(i)
      a ^= first | (second << 16)
      b ^= second | (first << 16)
      a = Math.imul(a ^ (a >>> 15), multiplierA)
      b = Math.imul(b ^ (b >>> 15), multiplierB)
    }
    if (i === length) {
      const last = key.charCodeAt(i - 1)
      a = Math.imul(a ^ last, multiplierA)
      b = Math.imul(b ^ last, multiplierB)
    }
    a = mix(a + b)
    this.high = mix(b ^ a)
    this.low = a === 0 ? 1 : a
  }
}

/** The finalizer of MurmurHash3 (Appleby, public domain): every bit of the input reaches every bit. */
export function mix(word: number): number {
  let h = word ^ (word >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 16)
}
