import type { AsyncCounters, AsyncCountersOptions, AsyncStore } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import { type Executor, RedisCounters } from '../remote/counters.js'
import { Denials } from '../remote/deny-cache.js'
import { Leases } from '../remote/leases.js'
import { Fallback } from '../remote/local-counting.js'
import { Batches } from './batches.js'
import { connectionOf, type RedisClient } from './client.js'
import { Link } from './link.js'
import { Names } from './names.js'
import { type RedisSettings, type RedisStoreOptions, readOptions } from './options.js'
import { Places } from './places.js'
import { type Layout, layoutOf } from './rule-set.js'
import { canRun } from './script.js'
import { ScriptExecutor } from './script-executor.js'
import { SwapExecutor } from './swap-executor.js'

/** A store in Redis or Valkey. */
export interface RedisStore extends AsyncStore {
  /** False while Redis, or a node of the cluster, fails: for health checks. */
  readonly isAvailable: boolean
  /** Returns leases and frees timers. The client stays open: it is yours. Limiters go on, without leases. */
  close(): Promise<void>
}

/** The store, on a clock that replaces the server's in tests. */
export function redisStoreOn(
  client: RedisClient,
  options: RedisStoreOptions,
  clock: (() => number) | null
): RedisStore {
  const settings = readOptions(options)
  return new Store(settings, client, clock)
}

class Store implements RedisStore {
  readonly #settings: RedisSettings
  readonly #link: Link
  readonly #batches: Batches
  readonly #names = new Names()
  readonly #counters: RedisCounters[] = []
  /** Two at once would charge the same twice. */
  #isSettling = false
  #isToSettle = false

  constructor(settings: RedisSettings, client: RedisClient, clock: (() => number) | null) {
    const { deadlineMs, breaker, isCluster, onStateChange } = settings
    this.#settings = settings
    this.#link = new Link(connectionOf(client, isCluster), {
      ...{ deadlineMs, breaker, clock },
      onChange: (error) =>
        onStateChange(error === undefined ? { isAvailable: true } : { isAvailable: false, error }),
      onRecovery: () => this.#settle()
    })
    this.#batches = new Batches(this.#link)
  }

  get isAvailable(): boolean {
    return this.#link.isAvailable
  }

  openAsync(options: AsyncCountersOptions): AsyncCounters {
    const { policies } = options
    const layout = layoutOf(this.#names.claim(options), policies)
    const places = new Places(this.#link, this.#settings.prefix, layout.suffixes)
    const counters: RedisCounters = new RedisCounters({
      options,
      places,
      executor: this.#executorFor(layout, options),
      fallback: new Fallback({
        ...options,
        onStoreError: options.onStoreError ?? this.#settings.onStoreError,
        share: options.share ?? this.#settings.share
      }),
      denials: this.#denialsFor(options),
      leases:
        options.lease === undefined
          ? null
          : new Leases(options.lease, policies, (key, units, at) =>
              counters.refund(key, units, policies, { at, source: 'store' })
            )
    })
    this.#counters.push(counters)
    return counters
  }

  async close(): Promise<void> {
    await Promise.all(this.#counters.map((counters) => counters.close()))
    this.#link.close()
  }

  #executorFor(layout: Layout, options: AsyncCountersOptions): Executor {
    return canRun(options.policies)
      ? new ScriptExecutor(this.#batches, layout, options)
      : new SwapExecutor(this.#link, options)
  }

  /** Denials that are to be charged must reach the store. */
  #denialsFor({ countDenied }: AsyncCountersOptions): Denials | null {
    const { denyCacheMs } = this.#settings
    return denyCacheMs === 0 || countDenied ? null : new Denials(denyCacheMs)
  }

  /** What cannot be charged now is tried again after the next failure; it only ages until then. */
  async #settle(): Promise<void> {
    this.#isToSettle = true
    if (this.#isSettling) return
    this.#isSettling = true
    while (this.#isToSettle) {
      this.#isToSettle = false
      for (const counters of this.#counters)
        await counters.settle().catch((error: unknown) => {
          if (!(error instanceof HeadgateError)) throw error
        })
    }
    this.#isSettling = false
  }
}
