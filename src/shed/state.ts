import type { HealthReason } from './health.js'

/** Why a request is shed: no room among those in flight, or the health of this worker. */
export type ShedReason = 'concurrency' | HealthReason

/** One request that is shed, as `onShed` gets it. */
export interface Shedding<P extends string = string> {
  readonly priority: P
  readonly reason: ShedReason
  /** What `Retry-After` says, ms. */
  readonly retryAfterMs: number
  readonly state: ShedState
}

/** What is shed, and why. */
export interface ShedState {
  /** True if anything is shed now, or was since the last sample (in the last second, without `health`). */
  readonly isShedding: boolean
  /** False while the health check fails, and while all that may be shed for `health` is. For readiness checks. */
  readonly isHealthy: boolean
  /** How much is shed for `health`, in priorities: 1.5 is all of the lowest and half of the next. */
  readonly level: number
  /** By priority, what part of it is shed for `health`, 0 to 1. */
  readonly shares: Readonly<Record<string, number>>
  readonly reasons: readonly ShedReason[]
  readonly inFlight: number
  /** Of the last interval; null without `health`. */
  readonly eventLoopDelayMs: number | null
  readonly eventLoopUtilization: number | null
  readonly heapUsedBytes: number | null
  readonly rssBytes: number | null
  readonly gauge: number | null
}
