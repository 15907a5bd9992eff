import { type Duration, durationMs } from '../core/duration.js'
import type { HeadgateError } from '../core/errors.js'
import { badOption, checkNames, type OptionTable, readOptions, type TableOf } from '../core/options.js'
import { wholeNumber } from '../core/readers.js'
import type { OnStoreError } from '../core/verdict.js'
import { warn } from '../core/warn.js'
import type { BreakerSettings } from './breaker.js'
import { onStoreErrorOf, shareOf } from './limiter-options.js'

/** Options of every remote store. */
export interface RemoteStoreOptions {
  /** The longest time a decision waits for the store; 100 ms if left out. */
  readonly deadline?: Duration | undefined
  /**
   * What to do while the store fails: `'allow'` or `'deny'` (503) every request, or count in this process's memory
   * (`'local'`, the default). Each limiter may override it.
   */
  readonly onStoreError?: OnStoreError | undefined
  /**
   * This process's part of every limit under `'local'`: 1 / N where N processes share it. 1 if left out: then each
   * process admits the whole limit during an outage.
   */
  readonly share?: number | undefined
  /** When the store counts as failing, and how soon it is tried again. */
  readonly breaker?:
    | {
        /** Calls in a row that fail; 3 if left out. */
        readonly failures?: number | undefined
        /** How long nothing is sent then, before one decision is tried; 1 s if left out. */
        readonly cooldown?: Duration | undefined
      }
    | undefined
  /**
   * Deny a key without asking the store while it is known to be denied, for at most this long. If left out, every
   * request asks. Until then a reset or refund by another process is not seen.
   */
  readonly denyCache?: Duration | undefined
  /**
   * How long a permit of `concurrency` is out after its process was last heard of, from 1 s to 1 h; 10 s if left out. A
   * process tells of its permits three times in that time. When it dies they are free again after it; when it is stopped
   * for longer, others may take them.
   */
  readonly leaseMs?: Duration | undefined
  /**
   * Called when the store begins to fail and when it works again. If left out, an outage raises a process warning.
   */
  readonly onStateChange?: ((state: StoreState) => void) | undefined
}

/** Whether a store works, and if not, why. */
export interface StoreState {
  readonly isAvailable: boolean
  readonly error?: HeadgateError
}

/** The options, read. */
export interface RemoteSettings {
  readonly deadlineMs: number
  readonly onStoreError: OnStoreError
  readonly share: number
  readonly breaker: BreakerSettings
  /** 0: denials are not remembered. */
  readonly denyCacheMs: number
  readonly leaseMs: number
  readonly onStateChange: (state: StoreState) => void
}

/** How those are read. */
export const remoteStoreOptions = {
  deadline: { read: deadlineOf },
  onStoreError: {
    read: (option: string, value: unknown) => onStoreErrorOf(option, value) ?? 'local'
  },
  share: { read: (option: string, value: unknown) => shareOf(option, value) ?? 1 },
  breaker: { read: breakerOf },
  denyCache: {
    read: (option: string, value: unknown) => (value === undefined ? 0 : durationMs(option, value))
  },
  leaseMs: { read: leaseMsOf },
  onStateChange: { read: listenerOf }
} as const satisfies TableOf<RemoteStoreOptions>

/**
 * Refuses options of a store that are no object, or that it does not know.
 * @throws HeadgateError
 */
export function checkStoreOptions(options: object, table: OptionTable, store: string, example: string): void {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, `give an object such as ${example}, or nothing`)
  checkNames(options, table, store)
}

/** @throws HeadgateError that names the option, the value and the fix */
export function readRemoteOptions(options: RemoteStoreOptions): RemoteSettings {
  const { deadline, denyCache, ...read } = readOptions(remoteStoreOptions, options)
  return { ...read, deadlineMs: deadline, denyCacheMs: denyCache }
}

/** The longest that a timer can wait, ms. */
const longestTimerMs = 2 ** 31 - 1

function deadlineOf(option: string, value: unknown): number {
  const deadlineMs = durationMs(option, value ?? 100)
  if (deadlineMs <= longestTimerMs) return deadlineMs
  throw badOption(option, value, "no timer waits for longer than 24 days; give a time such as '100ms'")
}

/** Leases are renewed three times each, within a deadline. */
const shortestLeaseMs = 1000

/** Backends keep permits of processes that died no longer than a little more than this. */
const longestLeaseMs = 3_600_000

function leaseMsOf(option: string, value: unknown): number {
  const leaseMs = durationMs(option, value ?? 10_000)
  if (leaseMs >= shortestLeaseMs && leaseMs <= longestLeaseMs) return leaseMs
  const why =
    leaseMs < shortestLeaseMs
      ? 'a process that is busy for a moment would lose its permits'
      : 'permits of a process that died would be missing for as long'
  throw badOption(option, value, `${why}; give a time from 1 s to 1 h, such as '10s'`)
}

function breakerOf(option: string, value: unknown = {}): BreakerSettings {
  if (typeof value !== 'object') throw badOption(option, value, "give { failures: 3, cooldown: '1s' }")
  const breaker = value as NonNullable<RemoteStoreOptions['breaker']>
  checkNames(breaker, ['failures', 'cooldown'], '`breaker`')
  return {
    failures: wholeNumber('breaker.failures', breaker.failures ?? 3, 1),
    cooldownMs: durationMs('breaker.cooldown', breaker.cooldown ?? 1000)
  }
}

function listenerOf(option: string, value: unknown): (state: StoreState) => void {
  if (value === undefined) return warnOfOutage
  if (typeof value !== 'function') throw badOption(option, value, 'give a function')
  return value as (state: StoreState) => void
}

function warnOfOutage({ error }: StoreState): void {
  if (error !== undefined)
    warn(error.code, `headgate: ${error.message} Until it is back, \`onStoreError\` decides.`)
}
