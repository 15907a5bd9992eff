import { monotonicMs } from './time/own-time.js'

/** When a node counts as failing, and how often it is asked whether it still does. */
export interface BreakerSettings {
  /** Calls in a row that must fail. */
  readonly failures: number
  /** How long nothing is sent then, before one decision is tried, ms. */
  readonly cooldownMs: number
}

/** Keeps requests from a node that fails, and lets one each cooldown through to see whether it is back. */
export class Breaker {
  readonly #settings: BreakerSettings
  #failures = 0
  /** When one may be tried, on the monotonic clock; null while the node works. */
  #retryAt: number | null = null

  constructor(settings: BreakerSettings) {
    this.#settings = settings
  }

  get isOpen(): boolean {
    return this.#retryAt !== null
  }

  /** True if the last call failed. */
  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** How long until one is tried, ms, at least 1. */
  get waitMs(): number {
    return Math.max(1, Math.ceil((this.#retryAt ?? 0) - monotonicMs()))
  }

  /** True for what may be sent; while the breaker is open, for one each cooldown. */
  admits(): boolean {
    if (this.#retryAt === null) return true
    const now = monotonicMs()
    if (now < this.#retryAt) return false
    // By time alone: a trial that never comes to a call, or goes to another node, must not keep this one shut.
    this.#retryAt = now + this.#settings.cooldownMs
    return true
  }

  /** Tells that a call was answered. True if that ends an outage. */
  succeed(): boolean {
    const wasOpen = this.isOpen
    this.#failures = 0
    this.#retryAt = null
    return wasOpen
  }

  /** Tells that a call failed. True if that begins an outage. */
  fail(): boolean {
    const wasOpen = this.isOpen
    this.#failures++
    if (!wasOpen && this.#failures < this.#settings.failures) return false
    this.#retryAt = monotonicMs() + this.#settings.cooldownMs
    return !wasOpen
  }
}
