import { hashOf, looksHashed } from '../memory/kept-key.js'

/** Bytes of UTF-8 that a key is kept with as it is; of longer ones there is a hash, which is as long at the most. */
const longestText = 47

/** Numbers that a key takes in a record: the length, and the text. */
export const keySlots = (longestText + 1) / 8

/**
 * The text of a blocked key among the numbers of its record, so that another thread can tell whom it is about: UTF-8 after
 * a byte with its length. As UTF-8 has no byte 0xff, and none above 0xef before 0x7f, no number of it is a NaN, whose bits
 * a copy might not keep.
 */
export class BlockedKey {
  readonly #bytes: Buffer

  /** @param numbers those of a record, the last of which are to hold keys */
  constructor(numbers: Float64Array<ArrayBuffer>) {
    const own = numbers.subarray(numbers.length - keySlots)
    this.#bytes = Buffer.from(own.buffer, own.byteOffset, own.byteLength)
  }

  write(key: string): void {
    const isPlain = key.length <= longestText && !looksHashed(key) && isWellFormed(key)
    const text = isPlain && Buffer.byteLength(key) <= longestText ? key : hashOf(key)
    this.#bytes.fill(0)
    this.#bytes[0] = this.#bytes.write(text, 1)
  }

  read(): string {
    return this.#bytes.toString('utf8', 1, 1 + Math.min(longestText, this.#bytes[0]!))
  }
}

/** True for a text that UTF-8 has all of: no half of a pair stands alone. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
