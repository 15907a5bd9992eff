import { monotonicClock } from '../../core/clock.js'
import { Out, outSize, type Verdict } from '../../core/verdict.js'

/** Blocks that are known, of those that the store knows of and of others; the oldest make room. */
const mostBlocks = 10_000

/** A key that is denied until an instant. */
export interface KnownBlock {
  /** On the process's clock; `Infinity` until it is reset. */
  readonly until: number
}

/** What this process knows of blocked keys, so that they stay blocked while the store fails, and in the store afterwards. */
export class KnownBlocks {
  /** Those that the store knows of. */
  readonly #told = new Map<string, KnownBlock>()
  /** Those that the store does not know yet. */
  readonly #due = new Map<string, KnownBlock>()

  /**
   * Takes what was answered.
   * @param isDue true if it was not the store that answered, which is still to be told
   */
  hear(key: string, verdict: Verdict, isDue: boolean): void {
    if (verdict.isBlocked) this.add(key, blockedMsOf(verdict), isDue)
    else if (this.#told.size > 0) this.#told.delete(key)
  }

  /** @param isDue true if the store is still to be told */
  add(key: string, blockMs: number, isDue: boolean): KnownBlock {
    const block = { until: monotonicClock() + blockMs }
    this.delete(key)
    put(isDue ? this.#due : this.#told, key, block)
    return block
  }

  /** For how many ms more a key is denied; 0 if it is not. */
  left(key: string): number {
    const block = this.#due.get(key) ?? this.#told.get(key)
    if (block === undefined) return 0
    const leftMs = block.until - monotonicClock()
    if (leftMs > 0) return leftMs
    this.delete(key)
    return 0
  }

  delete(key: string): void {
    this.#due.delete(key)
    this.#told.delete(key)
  }

  clear(): void {
    this.#due.clear()
    this.#told.clear()
  }

  /** The blocks that the store does not know yet. */
  due(): Iterable<[key: string, block: KnownBlock]> {
    return this.#due
  }

  /** Notes that the store was told of one, unless another has taken its place. */
  told(key: string, block: KnownBlock): void {
    if (this.#due.get(key) !== block) return
    this.#due.delete(key)
    put(this.#told, key, block)
  }
}

function put(blocks: Map<string, KnownBlock>, key: string, block: KnownBlock): void {
  blocks.set(key, block)
  if (blocks.size > mostBlocks) blocks.delete(blocks.keys().next().value!)
}

/** How long a key is blocked for, as nearly as a verdict says: no tier of a blocked key waits, or owes, for less. */
function blockedMsOf({ out }: Verdict): number {
  let ms = Number.POSITIVE_INFINITY
  for (let i = 0; i < out.length; i += outSize)
    ms = Math.min(ms, Math.max(1, out[i + Out.retryAfterMs]!), Math.max(1, out[i + Out.resetMs]!))
  return ms
}
