import type { WindowOptions } from '../../src/core/policy-options.js'
import { least, type Model } from './reference.js'

/** Units that were admitted at an instant. */
interface Units {
  readonly at: number
  readonly cost: number
}

/** What the windowed strategies have in common: they remember every unit. */
abstract class Log implements Model {
  limit: number
  protected readonly windowMs: number
  protected readonly log: Units[] = []

  constructor(limit: number, windowMs: number) {
    this.limit = limit
    this.windowMs = windowMs
  }

  get capacity(): number {
    return this.limit
  }

  abstract admits(cost: number, at: number): boolean

  charge(cost: number, at: number): void {
    this.log.push({ at, cost })
  }

  undo(): void {
    this.log.pop()
  }

  protected sum(counts: (at: number) => boolean): number {
    return this.log.reduce((sum, units) => sum + (counts(units.at) ? units.cost : 0), 0)
  }

  protected windowOf(at: number): number {
    return Math.floor(at / this.windowMs)
  }
}

class FixedWindow extends Log {
  admits(cost: number, at: number): boolean {
    return cost + this.sum((then) => this.windowOf(then) === this.windowOf(at)) <= this.limit
  }
}

class OwnWindow extends Log {
  admits(cost: number, at: number): boolean {
    let opened = Number.NEGATIVE_INFINITY
    for (const units of this.log) if (units.at - opened >= this.windowMs) opened = units.at
    return at - opened >= this.windowMs
      ? cost <= this.limit
      : cost + this.sum((then) => then >= opened) <= this.limit
  }
}

class SlidingWindow extends Log {
  admits(cost: number, at: number): boolean {
    const window = this.windowOf(at)
    const previous = this.sum((then) => this.windowOf(then) === window - 1)
    const current = this.sum((then) => this.windowOf(then) === window)
    const length = BigInt(this.windowMs)
    const elapsed = BigInt(at) - BigInt(window) * length
    const weighed = BigInt(previous) * (length - elapsed) + BigInt(current + cost) * length
    return weighed <= BigInt(this.limit) * length
  }
}

class SlidingLog extends Log {
  admits(cost: number, at: number): boolean {
    return cost + this.sum((then) => then > at - this.windowMs && then <= at) <= this.limit
  }
}

/** A bucket that starts full; its level in 1/W units. */
class TokenBucket implements Model {
  limit: number
  readonly capacity: number
  protected readonly unit: bigint
  protected level: bigint
  #at = 0
  #before: [level: bigint, at: number] = [0n, 0]

  constructor(limit: number, windowMs: number, capacity: number) {
    this.limit = limit
    this.capacity = capacity
    this.unit = BigInt(windowMs)
    this.level = this.full
    this.#before = [this.level, 0]
  }

  protected get full(): bigint {
    return BigInt(this.capacity) * this.unit
  }

  admits(cost: number, at: number): boolean {
    return BigInt(cost) * this.unit <= this.#levelAt(at)
  }

  charge(cost: number, at: number): void {
    this.#before = [this.level, this.#at]
    this.level = this.#levelAt(at) - BigInt(cost) * this.unit
    this.#at = at
  }

  undo(): void {
    ;[this.level, this.#at] = this.#before
  }

  #levelAt(at: number): bigint {
    const filled = this.level + BigInt(at - this.#at) * BigInt(this.limit)
    return filled < this.full ? filled : this.full
  }
}

/** Virtual scheduling, ITU-T I.371: times in 1/limit ms, so that every one of them is whole. */
class Gcra implements Model {
  readonly limit: number
  readonly capacity: number
  readonly #unit: bigint
  #arrival = 0n
  #before = 0n

  constructor(limit: number, windowMs: number, capacity: number) {
    this.limit = limit
    this.capacity = capacity
    this.#unit = BigInt(windowMs)
  }

  admits(cost: number, at: number): boolean {
    return this.#after(cost, at) <= BigInt(at) * BigInt(this.limit) + BigInt(this.capacity) * this.#unit
  }

  charge(cost: number, at: number): void {
    this.#before = this.#arrival
    this.#arrival = this.#after(cost, at)
  }

  undo(): void {
    this.#arrival = this.#before
  }

  #after(cost: number, at: number): bigint {
    const now = BigInt(at) * BigInt(this.limit)
    return (this.#arrival > now ? this.#arrival : now) + BigInt(cost) * this.#unit
  }
}

/** A queue that drains at the rate: who finds more than `delayAfter` units in it waits until only those are left. */
class LeakyBucket extends TokenBucket {
  readonly #delayAfter: bigint
  #lastCost = 0n

  constructor(limit: number, windowMs: number, burst: number, delayAfter: number) {
    super(limit, windowMs, burst + 1)
    this.#delayAfter = BigInt(delayAfter)
  }

  override charge(cost: number, at: number): void {
    super.charge(cost, at)
    this.#lastCost = BigInt(cost)
  }

  delay(): number {
    const found = this.full - this.level - this.#lastCost * this.unit
    return least(0, (wait) => found - BigInt(wait) * BigInt(this.limit) <= this.#delayAfter * this.unit)
  }
}

/** The model of a policy. */
export function modelOf(policy: WindowOptions): Model {
  const { limit, burst = limit, delayAfter = 0 } = policy
  const windowMs = policy.window as number
  switch (policy.strategy) {
    case 'sliding-window':
      return new SlidingWindow(limit, windowMs)
    case 'sliding-log':
      return new SlidingLog(limit, windowMs)
    case 'token-bucket':
      return new TokenBucket(limit, windowMs, burst)
    case 'gcra':
      return new Gcra(limit, windowMs, burst)
    case 'leaky-bucket':
      return new LeakyBucket(limit, windowMs, policy.burst ?? 0, delayAfter)
    default:
      return policy.align === 'first-request'
        ? new OwnWindow(limit, windowMs)
        : new FixedWindow(limit, windowMs)
  }
}
