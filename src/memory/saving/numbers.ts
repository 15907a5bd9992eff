import { refused } from './envelope.js'

/** Writes numbers one after the other; texts and whole words as the numbers that their bytes make. */
export class NumberWriter {
  readonly #parts: Float64Array[] = []
  #single: number[] = []

  number(value: number): void {
    this.#single.push(value)
  }

  /** Numbers as they are, which may be the bytes of anything. They must not change until all is put together. */
  raw(values: Float64Array): void {
    this.#flush()
    this.#parts.push(values)
  }

  text(text: string): void {
    const bytes = Buffer.from(text, 'utf16le')
    const padded = new Uint8Array(Math.ceil(bytes.length / 8) * 8)
    padded.set(bytes)
    this.number(bytes.length)
    this.raw(new Float64Array(padded.buffer))
  }

  /** What `write` writes, after its length. */
  section(write: (to: NumberWriter) => void): void {
    const inner = new NumberWriter()
    write(inner)
    const { parts } = inner
    this.number(parts.reduce((sum, part) => sum + part.length, 0))
    for (const part of parts) this.raw(part)
  }

  get parts(): readonly Float64Array[] {
    this.#flush()
    return this.#parts
  }

  #flush(): void {
    if (this.#single.length > 0) this.#parts.push(Float64Array.from(this.#single))
    this.#single = []
  }
}

/** Reads what a `NumberWriter` wrote. */
export class NumberReader {
  readonly #numbers: Float64Array
  #at = 0

  constructor(numbers: Float64Array) {
    this.#numbers = numbers
  }

  get isAtEnd(): boolean {
    return this.#at === this.#numbers.length
  }

  number(): number {
    return this.raw(1)[0]!
  }

  /** A number of things. */
  count(): number {
    const count = this.number()
    if (!Number.isSafeInteger(count) || count < 0) throw refused('are damaged')
    return count
  }

  /** So many numbers, where they are. */
  raw(count: number): Float64Array {
    const end = this.#at + count
    if (end > this.#numbers.length) throw refused('were cut off')
    const values = this.#numbers.subarray(this.#at, end)
    this.#at = end
    return values
  }

  text(): string {
    const length = this.count()
    const { buffer, byteOffset } = this.raw(Math.ceil(length / 8))
    return Buffer.from(buffer, byteOffset, length).toString('utf16le')
  }

  section(): Float64Array {
    return this.raw(this.count())
  }
}
