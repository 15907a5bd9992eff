import type { OnStoreError } from '../core/async-store.js'
import { type Duration, durationMs } from '../core/duration.js'
import type { HeadgateError } from '../core/errors.js'
import { checkOnStoreError, checkShare, flag } from '../core/limiter-options.js'
import { badOption, checkNames } from '../core/options.js'
import { wholeNumber } from '../core/policy.js'
import type { BreakerSettings } from '../remote/breaker.js'

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** What every key begins with; `'headgate:'` if left out. Limiters of one prefix, name and rule count together. */
  readonly prefix?: string | undefined
  /** The longest that a decision waits for Redis; 100 ms if left out. */
  readonly deadline?: Duration | undefined
  /**
   * What becomes of requests while Redis fails: `'allow'` and `'deny'` (503) all, or count them in this process's
   * memory (`'local'`, the default). Limiters may have their own.
   */
  readonly onStoreError?: OnStoreError | undefined
  /**
   * This process's part of every limit under `'local'`: 1 / N where N processes share it. 1 if left out: then each
   * process admits the whole limit during an outage.
   */
  readonly share?: number | undefined
  /** When Redis counts as failing, and how soon it is tried again. */
  readonly breaker?:
    | {
        /** Calls in a row that fail; 3 if left out. */
        readonly failures?: number | undefined
        /** How long nothing is sent then, before one decision is tried; 1 s if left out. */
        readonly cooldown?: Duration | undefined
      }
    | undefined
  /**
   * Deny a key without asking Redis while it is known to be denied, for at most this long. Left out, every request
   * asks. A reset or refund by another process is seen after that time only.
   */
  readonly denyCache?: Duration | undefined
  /** True where a client that is a function leads to a cluster. Other clients show it. */
  readonly cluster?: boolean | undefined
  /** Told when Redis begins to fail and when it works again. Left out, an outage is a process warning. */
  readonly onStateChange?: ((state: StoreState) => void) | undefined
}

/** Whether Redis works, and if not, why. */
export interface StoreState {
  readonly isAvailable: boolean
  readonly error?: HeadgateError
}

/** The options, read. */
export interface RedisSettings {
  readonly prefix: string
  readonly deadlineMs: number
  readonly onStoreError: OnStoreError
  readonly share: number
  readonly breaker: BreakerSettings
  /** 0: denials are not remembered. */
  readonly denyCacheMs: number
  readonly isCluster: boolean
  readonly onStateChange: (state: StoreState) => void
}

/** The names of the options of `redisStore`. */
export const redisStoreOptionNames = [
  'prefix',
  'deadline',
  'onStoreError',
  'share',
  'breaker',
  'denyCache',
  'cluster',
  'onStateChange'
] as const

/** @throws HeadgateError that names the option, the value and the fix */
export function readOptions(options: RedisStoreOptions): RedisSettings {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { prefix: 'api:' }, or nothing")
  checkNames(options, redisStoreOptionNames, 'redisStore')
  const { breaker = {}, onStateChange } = options
  if (typeof breaker !== 'object') throw badOption('breaker', breaker, "give { failures: 3, cooldown: '1s' }")
  checkNames(breaker, ['failures', 'cooldown'], '`breaker`')
  if (onStateChange !== undefined && typeof onStateChange !== 'function')
    throw badOption('onStateChange', onStateChange, 'give a function')
  return {
    prefix: prefixOf(options.prefix),
    deadlineMs: durationMs('deadline', options.deadline ?? 100),
    onStoreError: checkOnStoreError(options.onStoreError) ?? 'local',
    share: checkShare(options.share) ?? 1,
    breaker: {
      failures: wholeNumber('breaker.failures', breaker.failures ?? 3, 1),
      cooldownMs: durationMs('breaker.cooldown', breaker.cooldown ?? 1000)
    },
    denyCacheMs: options.denyCache === undefined ? 0 : durationMs('denyCache', options.denyCache),
    isCluster: flag('cluster', options.cluster),
    onStateChange: onStateChange ?? warnOfOutage
  }
}

/** A prefix with a brace of its own would take the hash tag's place. */
function prefixOf(prefix: unknown): string {
  if (prefix === undefined) return 'headgate:'
  if (typeof prefix === 'string' && /^[\x21-\x7e]{1,128}$/.test(prefix) && !/[{}]/.test(prefix)) return prefix
  throw badOption('prefix', prefix, 'give 1 to 128 printable ASCII characters without { and }')
}

function warnOfOutage({ error }: StoreState): void {
  if (error !== undefined)
    process.emitWarning(`headgate: ${error.message} Until it is back, \`onStoreError\` decides.`, {
      type: 'HeadgateWarning',
      code: error.code
    })
}
