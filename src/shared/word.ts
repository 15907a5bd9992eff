/*
 * A word of 64 bits that threads change by compare-and-swap: the place of a record below, and above it a version that
 * grows with each change. So a word that reads the same twice was not changed in between, unless a thread slept through
 * an exact multiple of 2^32 changes of it and then found the same record there.
 */
const whole = new BigInt64Array(1)
const halves = new Int32Array(whole.buffer)
const [low, high] = isLittleEndian() ? [0, 1] : [1, 0]

/** The record that a word leads to; 0 is none. */
export function recordOf(word: bigint): number {
  whole[0] = word
  return halves[low]!
}

/** Which of the two whole numbers of a word is the place of the record. */
export const recordHalf = low

/** The word that follows `word` and leads to `record`. */
export function successor(word: bigint, record: number): bigint {
  whole[0] = word
  halves[low] = record
  halves[high]! += 1
  return whole[0]!
}

/** A word as a whole number; it is none of the versioned ones. */
export function numberOf(word: bigint): number {
  whole[0] = word
  return halves[high]! * 2 ** 32 + (halves[low]! >>> 0)
}

function isLittleEndian(): boolean {
  return new Uint8Array(new Uint32Array([1]).buffer)[0] === 1
}
