import { HeadgateError } from '../core/errors.js'
import { checkNames } from '../core/options.js'
import { type Policy, wholeNumber } from '../core/policy.js'
import type { Counters, CountersOptions, Store } from '../core/store.js'
import { MemoryCounters } from './memory-counters.js'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most keys that one limiter keeps, its share of the memory bound. The default is 1 000 000, or as many as
   * fit 256 MiB where a key takes more than 268 bytes (a long sliding log does).
   */
  readonly maxKeys?: number | undefined
}

/**
 * The embedded store: exact, synchronous and bounded. Keys that owe nothing are reclaimed as others come, without
 * a timer; keys that owe are never forgotten. What does not fit `maxKeys` is judged by a fixed-size overflow that
 * can be too strict, never too lax.
 *
 * Each limiter of a store has counters of its own, except that limiters whose policies are all named share those
 * of equal names.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames(options, ['maxKeys'], 'memoryStore')
  const maxKeys = options.maxKeys === undefined ? undefined : wholeNumber('maxKeys', options.maxKeys, 1)
  const shared = new Map<string, { rules: string; counters: Counters }>()
  return {
    open({ policies, named }: CountersOptions): Counters {
      if (!named) return new MemoryCounters(policies, maxKeys)
      const names = JSON.stringify(policies.map((policy) => policy.name))
      const rules = rulesText(policies)
      const held = shared.get(names) ?? { rules, counters: new MemoryCounters(policies, maxKeys) }
      if (held.rules !== rules)
        throw new HeadgateError(
          'HEADGATE_POLICY_CLASH',
          `This store already counts ${names} under another rule: give one of the two limiters another \`name\`.`
        )
      shared.set(names, held)
      return held.counters
    }
  }
}

/** Equal for policies that decide alike, whether their defaults were written out or not. */
function rulesText(policies: readonly Policy[]): string {
  return JSON.stringify(
    policies.map(({ strategy, limit, windowMs, capacity, align = 'clock', delayAfter = 0 }) => [
      strategy.name,
      limit,
      windowMs,
      capacity,
      align,
      delayAfter
    ])
  )
}
