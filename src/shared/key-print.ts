import { mix } from '../memory/fingerprint.js'

/**
 * Fingerprints of keys, two words of 32 bits of which the first is not 0, under a seed that all threads of a buffer
 * share and nobody outside knows. The same function as the memory store's, which has a seed for each thread.
 */
export class KeyPrint {
  low = 0
  high = 0
  #key = ''
  readonly #multiplierA: number
  readonly #multiplierB: number
  readonly #startA: number
  readonly #startB: number

  constructor(seed: Int32Array) {
    this.#multiplierA = seed[0]! | 1
    this.#multiplierB = seed[1]! | 1
    this.#startA = seed[2]!
    this.#startB = seed[3]!
  }

  of(key: string): void {
    if (key === this.#key) return
    this.#key = key
    const { length } = key
    let a = this.#startA ^ length
    let b = this.#startB
    let i = 1
    for (; i < length; i += 2) {
      const first = key.charCodeAt(i - 1)
      const second = key.charCodeAt(i)
      a ^= first | (second << 16)
      b ^= second | (first << 16)
      a = Math.imul(a ^ (a >>> 15), this.#multiplierA)
      b = Math.imul(b ^ (b >>> 15), this.#multiplierB)
    }
    if (i === length) {
      const last = key.charCodeAt(i - 1)
      a = Math.imul(a ^ last, this.#multiplierA)
      b = Math.imul(b ^ last, this.#multiplierB)
    }
    a = mix(a + b)
    this.high = mix(b ^ a)
    this.low = a === 0 ? 1 : a
  }
}
