import type { WorkResult } from '../core/adaptive/adaptive-limit.js'
import { HeadgateError } from '../core/errors.js'
import { countsInFlight } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import type { BlockPage, BlocksFound, Buckets, BucketsOptions } from '../core/store.js'
import type { Action, Verdict } from '../core/verdict.js'
import { AttachedBuffer, type SharedHandle } from './buffer.js'

/** A buffer that is still on its way to this thread. */
export class LateBuffer {
  #attached: AttachedBuffer | null = null
  #failure: unknown

  constructor(coming: PromiseLike<SharedHandle>) {
    coming.then(
      (handle) => {
        try {
          this.#attached = new AttachedBuffer(handle)
        } catch (error) {
          this.#failure = error
        }
      },
      (error: unknown) => {
        this.#failure = error
      }
    )
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` while there is none */
  get attached(): AttachedBuffer {
    if (this.#attached !== null) return this.#attached
    throw new HeadgateError(
      'HEADGATE_STORE_FAILED',
      this.#failure === undefined
        ? 'The shared store has not come to this thread yet: `from` is a promise that is not settled.'
        : 'The shared store did not come to this thread: see `cause`.',
      this.#failure === undefined ? undefined : { cause: this.#failure }
    )
  }

  get handle(): SharedHandle {
    return this.attached.handle
  }

  save(): Uint8Array {
    return this.attached.save()
  }

  clear(): void {
    this.attached.clear()
  }

  open(options: BucketsOptions): Buckets {
    if (this.#attached !== null) return this.#attached.open(options)
    return options.policies.some(countsInFlight)
      ? new LatePermitBuckets(this, options)
      : new LateBuckets(this, options)
  }
}

/** The buckets of a limiter that was made before its store had come. */
class LateBuckets implements Buckets {
  readonly #buffer: LateBuffer
  readonly #options: BucketsOptions
  #buckets: Buckets | null = null

  constructor(buffer: LateBuffer, options: BucketsOptions) {
    this.#buffer = buffer
    this.#options = options
  }

  decide(action: Action, key: string, cost: number, now: number, policies: readonly Policy[]): Verdict {
    return this.opened.decide(action, key, cost, now, policies)
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    this.opened.refund(key, cost, now, policies, chargedAt)
  }

  reset(key: string): void {
    this.opened.reset(key)
  }

  clear(): void {
    this.opened.clear()
  }

  block(key: string, blockMs: number, now: number, isLeast?: boolean): boolean {
    return this.opened.block(key, blockMs, now, isLeast)
  }

  blocks(page: BlockPage, now: number): BlocksFound {
    return this.opened.blocks!(page, now)
  }

  size(now: number): number {
    return this.opened.size(now)
  }

  /** @throws HeadgateError as `LateBuffer.attached` and its `open` */
  protected get opened(): Buckets {
    this.#buckets ??= this.#buffer.attached.open(this.#options)
    return this.#buckets
  }
}

/** The same of a limiter that counts what is in flight. */
class LatePermitBuckets extends LateBuckets {
  readonly releasesUnseen = true
  /** Who wants to hear of releases, once there can be any. */
  readonly #listeners: ((key: string) => void)[] = []

  release(key: string, permit: number, cost: number, result: WorkResult): void {
    this.opened.release!(key, permit, cost, result)
  }

  onRelease(listener: (key: string) => void): void {
    this.#listeners.push(listener)
  }

  protected override get opened(): Buckets {
    const opened = super.opened
    if (this.#listeners.length > 0)
      for (const listener of this.#listeners.splice(0)) opened.onRelease!(listener)
    return opened
  }
}
