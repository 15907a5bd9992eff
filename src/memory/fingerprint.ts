import { randomFillSync } from 'node:crypto'

/*
 * Keys are known by a 64-bit fingerprint under a seed that is drawn for each process: no text is kept, and nobody
 * outside can aim for a collision. Two keys among n share one with a probability of about n² / 2^65, which is
 * 3 · 10^-8 for a million keys; sharing can only make the limit stricter for both.
 */
const seed = randomFillSync(new Int32Array(4))
const multiplierA = seed[0]! | 1
const multiplierB = seed[1]! | 1
const startA = seed[2]!
const startB = seed[3]!

/**
 * Writes the fingerprint of a key, two 32-bit words of which the first is not 0. A difference between two keys is
 * spread by a shift before each multiplication, so that what it becomes depends on the seed whichever bit it is in.
 */
export function fingerprint(key: string, out: Int32Array): void {
  const { length } = key
  let a = startA ^ length
  let b = startB
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
  b = mix(b ^ a)
  out[0] = a === 0 ? 1 : a
  out[1] = b
}

/** The finalizer of MurmurHash3 (Appleby, public domain): every bit of the input reaches every bit. */
export function mix(word: number): number {
  let h = word ^ (word >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 16)
}
