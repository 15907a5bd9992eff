import { monotonicClock } from '../core/clock.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'

/** Blocks that are known; the oldest make room. */
const mostBlocks = 10_000

/** How many of the oldest are looked at for one that the store knows of, before one that it does not is forgotten. */
const looksForRoom = 16

/** A key that is denied until an instant. */
export interface KnownBlock {
  /** On the process's clock; `Infinity` until it is reset. */
  readonly until: number
  /** True if the store does not know of it. */
  readonly isDue: boolean
}

/** What this process knows of blocked keys, so that they stay blocked while the store fails, and in the store afterwards. */
export class KnownBlocks {
  readonly #blocks = new Map<string, KnownBlock>()

  /**
   * Takes what was answered.
   * @param isDue true if it was not the store that answered, which is still to be told
   */
  hear(key: string, verdict: Verdict, isDue: boolean): void {
    if (verdict.isBlocked) this.#set(key, { until: monotonicClock() + blockedMsOf(verdict), isDue })
    else if (this.#blocks.get(key)?.isDue === false) this.#blocks.delete(key)
  }

  /** @param isDue true if the store is still to be told */
  add(key: string, blockMs: number, isDue: boolean): KnownBlock {
    const block = { until: monotonicClock() + blockMs, isDue }
    this.#set(key, block)
    return block
  }

  /** For how many ms more a key is denied; 0 if it is not. */
  left(key: string): number {
    const block = this.#blocks.get(key)
    if (block === undefined) return 0
    const leftMs = block.until - monotonicClock()
    if (leftMs > 0) return leftMs
    this.#blocks.delete(key)
    return 0
  }

  delete(key: string): void {
    this.#blocks.delete(key)
  }

  clear(): void {
    this.#blocks.clear()
  }

  /** The blocks that the store is to be told of. */
  *due(): Generator<[key: string, block: KnownBlock]> {
    for (const entry of this.#blocks) if (entry[1].isDue) yield entry
  }

  /** Notes that the store was told of one, unless another has taken its place. */
  told(key: string, block: KnownBlock): void {
    if (this.#blocks.get(key) === block) this.#blocks.set(key, { ...block, isDue: false })
  }

  #set(key: string, block: KnownBlock): void {
    this.#blocks.delete(key)
    if (this.#blocks.size >= mostBlocks) this.#makeRoom()
    this.#blocks.set(key, block)
  }

  #makeRoom(): void {
    const now = monotonicClock()
    let looks = 0
    for (const [key, { until, isDue }] of this.#blocks) {
      if (isDue && until > now && looks++ < looksForRoom) continue
      this.#blocks.delete(key)
      return
    }
  }
}

/** How long a key is blocked for, as nearly as a verdict says: no tier of a blocked key waits, or owes, for less. */
function blockedMsOf({ out }: Verdict): number {
  let ms = Number.POSITIVE_INFINITY
  for (let i = 0; i < out.length; i += outSize)
    ms = Math.min(ms, Math.max(1, out[i + Out.retryAfterMs]!), Math.max(1, out[i + Out.resetMs]!))
  return ms
}
