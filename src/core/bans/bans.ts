import type { AsyncBuckets } from '../async-store.js'
import { countsInFlight } from '../permit-buckets.js'
import type { Policy } from '../policy.js'
import { isPromiseLike } from '../promise.js'
import type { Buckets } from '../store.js'
import { charge, Out, outSize, type Verdict } from '../verdict.js'

/** What remembers the denials of a limiter, and what blocks its keys. */
export interface BansParts<B> {
  /** Counts denials; see `ban-record.ts`. */
  readonly policies: readonly Policy[]
  readonly records: B
  readonly buckets: B
}

/** Bans keys that are denied again and again, in a store in the process. */
export class Bans {
  readonly #parts: BansParts<Buckets>

  constructor(parts: BansParts<Buckets>) {
    this.#parts = parts
  }

  /** The verdict on a request that was denied, which may ban its key. */
  judge(key: string, verdict: Verdict): Verdict {
    if (!isOffence(verdict)) return verdict
    const { policies, records, buckets } = this.#parts
    const { out } = records.decide(charge, key, 1, verdict.at, policies)
    const banMs = out[Out.delayMs]!
    if (banMs === 0 || !buckets.block(key, banMs, verdict.at, true)) return verdict
    return banned(verdict, banMs)
  }

  /** Forgets the bans of a key. */
  reset(key: string): void {
    this.#parts.records.reset(key)
  }

  /** Ends the ban of a key, as something else takes its place. */
  end(key: string, now: number): void {
    const { policies, records } = this.#parts
    records.refund(key, 1, now, policies, now)
  }

  clear(): void {
    this.#parts.records.clear()
  }
}

/** The same in a store outside the process. While that fails nobody is banned. */
export class AsyncBans {
  readonly #parts: BansParts<AsyncBuckets>

  constructor(parts: BansParts<AsyncBuckets>) {
    this.#parts = parts
  }

  judge(key: string, asked: Verdict | Promise<Verdict>): Verdict | Promise<Verdict> {
    if (isPromiseLike<Verdict>(asked)) return asked.then((verdict) => this.judge(key, verdict))
    return asked.isAllowed || !isOffence(asked) ? asked : this.#strike(key, asked)
  }

  async #strike(key: string, verdict: Verdict): Promise<Verdict> {
    const { policies, records, buckets } = this.#parts
    const { source, out } = await records.decide(charge, key, 1, policies)
    const banMs = source === 'store' ? out[Out.delayMs]! : 0
    if (banMs === 0) return verdict
    // Where the store fails just then this process holds the ban, and tells the store later.
    await buckets.block(key, banMs, true).then(undefined, () => {})
    return banned(verdict, banMs)
  }

  reset(key: string): Promise<void> {
    return this.#parts.records.reset(key)
  }

  end(key: string): Promise<void> {
    const { policies, records } = this.#parts
    return records.refund(key, 1, policies, { source: 'store' })
  }

  clear(): Promise<void> {
    return this.#parts.records.clear()
  }
}

/**
 * True for a denial that counts towards a ban: by a window, of a key that is not blocked, decided with the store. What is
 * never admitted, or waits for others to release what is in flight, is no offence.
 */
function isOffence({ isBlocked, source, policies, out }: Verdict): boolean {
  if (isBlocked || (source !== 'store' && source !== 'cache')) return false
  let longestMs = 0
  for (let i = 0; i < policies.length; i++) {
    const waitMs = out[i * outSize + Out.retryAfterMs]!
    if (waitMs === Number.POSITIVE_INFINITY) return false
    if (waitMs > longestMs && !countsInFlight(policies[i]!)) longestMs = waitMs
  }
  return longestMs > 0
}

/** The verdict on a request that gets its key banned. */
function banned(verdict: Verdict, banMs: number): Verdict {
  const { charged, at, source, policies } = verdict
  const out = Array.from(verdict.out)
  for (let i = 0; i < out.length; i += outSize) {
    out[i + Out.remaining] = 0
    out[i + Out.retryAfterMs] = longer(out[i + Out.retryAfterMs]!, banMs)
    out[i + Out.resetMs] = longer(out[i + Out.resetMs]!, banMs)
  }
  return { isAllowed: false, isBlocked: true, charged, at, source, policies, out }
}

/** A wait that nobody knows is taken for none. */
function longer(waitMs: number, banMs: number): number {
  return Number.isNaN(waitMs) ? banMs : Math.max(waitMs, banMs)
}
