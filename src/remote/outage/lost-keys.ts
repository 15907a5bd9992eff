import { mix } from '../../memory/fingerprint.js'

/** Bits by which keys are counted: enough for some millions. */
const bits = 2 ** 20

/** About how many keys were noted, whatever their texts, in a fixed room: linear counting (Whang and others, 1990). */
export class LostKeys {
  #seen = new Uint8Array(0)
  #unseen = bits

  note(key: string): void {
    if (this.#seen.length === 0) this.#seen = new Uint8Array(bits / 8)
    let hash = key.length
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
    const bit = (mix(hash) >>> 0) % bits
    const mask = 1 << (bit & 7)
    if ((this.#seen[bit >>> 3]! & mask) !== 0) return
    this.#seen[bit >>> 3]! |= mask
    this.#unseen--
  }

  /** About how many; exact as long as they are few. */
  get count(): number {
    return Math.round(bits * Math.log(bits / Math.max(1, this.#unseen)))
  }

  clear(): void {
    this.#seen = new Uint8Array(0)
    this.#unseen = bits
  }
}
