import { identityOf } from '../../core/names.js'
import type { BucketsOptions } from '../../core/store.js'
import { ownSeed } from '../fingerprint.js'
import { sealed, unsealed } from './envelope.js'
import { NumberReader, NumberWriter } from './numbers.js'

/** What one limiter had when it was saved. */
interface Section {
  /** When nothing of it is left, on the limiter's clock. */
  readonly endsAt: number
  readonly body: Float64Array
}

/** What was saved of a store, by limiter, until limiters take it up. */
export class KeptSections {
  /** The seed of all fingerprints. */
  readonly seed: Int32Array
  readonly #sections = new Map<string, Section>()
  /** How many limiters of one kind were opened: they are told apart by their order. */
  readonly #opened = new Map<string, number>()
  /** The time of the last decision before it was saved. */
  #time = 0

  /**
   * @param bytes undefined for a store that begins anew
   * @throws HeadgateError `HEADGATE_BAD_SAVE`
   */
  constructor(bytes: Uint8Array | undefined) {
    this.seed = ownSeed
    if (bytes === undefined) return
    const from = new NumberReader(unsealed('memoryStore', bytes))
    this.seed = new Int32Array(from.raw(2).slice().buffer)
    this.#time = from.number()
    while (!from.isAtEnd) {
      const key = from.text()
      const endsAt = from.number()
      this.#sections.set(key, { endsAt, body: from.section() })
    }
  }

  /** What a limiter is known by in what is saved: its name or place, its rules, and which of those with the same it is. */
  keyFor(options: BucketsOptions): string {
    const { id, rule } = identityOf(options)
    const kind = JSON.stringify([options.named, id, rule])
    const before = this.#opened.get(kind) ?? 0
    this.#opened.set(kind, before + 1)
    return `${kind} ${before}`
  }

  has(key: string): boolean {
    return this.#sections.has(key)
  }

  /** Takes out what was saved of a limiter. */
  take(key: string): NumberReader | null {
    const section = this.#sections.get(key)
    this.#sections.delete(key)
    return section === undefined ? null : new NumberReader(section.body)
  }

  clear(): void {
    this.#sections.clear()
  }

  /** All as bytes: what limiters have, and what none has taken up as long as anything of it is left. */
  save(
    limiters: Iterable<readonly [key: string, latest: number, save: (to: NumberWriter) => number]>
  ): Uint8Array {
    const living = [...limiters]
    const time = living.reduce((last, [, latest]) => Math.max(last, latest), this.#time)
    const to = new NumberWriter()
    to.raw(new Float64Array(this.seed.slice().buffer))
    to.number(time)
    for (const [key, , save] of living) {
      const body = new NumberWriter()
      const endsAt = save(body)
      writeSection(to, key, endsAt, body.parts)
    }
    for (const [key, { endsAt, body }] of this.#sections)
      if (endsAt > time) writeSection(to, key, endsAt, [body])
    return sealed('memoryStore', to.parts)
  }
}

function writeSection(to: NumberWriter, key: string, endsAt: number, body: readonly Float64Array[]): void {
  to.text(key)
  to.number(endsAt)
  to.section((inner) => {
    for (const part of body) inner.raw(part)
  })
}
