import { type Duration, durationMs } from '../core/duration.js'
import { badOption, checkNames, readOptions, type TableOf } from '../core/options.js'
import { wholeNumber } from '../core/readers.js'
import type { HealthCheck } from './health-check.js'
import { signalNames, type Thresholds } from './signals.js'

/** A gauge of the user's: its reading, and from what reading on it is pressure (1 if left out). */
export type Gauge = (() => number) | { readonly read: () => number; readonly max?: number | undefined }

/** By what the health of a worker is judged. Each threshold is pressure from its value on. */
export interface HealthOptions {
  /** Mean delay of the event loop in an interval, beyond the 10 ms by which Node looks. */
  readonly eventLoopDelay?: Duration | undefined
  /** What part of the last interval the event loop was busy, above 0 and up to 1. */
  readonly eventLoopUtilization?: number | undefined
  readonly heapUsedBytes?: number | undefined
  readonly rssBytes?: number | undefined
  /** Requests in flight. */
  readonly inFlight?: number | undefined
  /** Anything else, such as the length of a queue as a part of what is too long. It is read once an interval. */
  readonly gauge?: Gauge | undefined
  /** How often all that is read; 1 s if left out. */
  readonly sampleInterval?: Duration | undefined
  /** Asked again and again: while it is not true, and until it is for the first time, all that may be shed is. */
  readonly healthCheck?: HealthCheck | undefined
  /** How often it is asked, and up to 5 s the time in which it must answer; 5 s if left out. */
  readonly healthCheckInterval?: Duration | undefined
}

/** Those options, read. */
export interface HealthPlan {
  readonly thresholds: Thresholds
  /** Those that samples are held to: requests in flight each request sees for itself. */
  readonly sampled: Thresholds
  readonly readGauge: (() => number) | null
  readonly sampleIntervalMs: number
  readonly healthCheck: HealthCheck | null
  readonly healthCheckIntervalMs: number
}

const healthOptions = {
  eventLoopDelay: {
    read: (option: string, value: unknown) => (value === undefined ? undefined : durationMs(option, value))
  },
  eventLoopUtilization: { read: utilizationOf },
  heapUsedBytes: { read: countOf },
  rssBytes: { read: countOf },
  inFlight: { read: countOf },
  gauge: { read: gaugeOf },
  sampleInterval: { read: (option: string, value: unknown) => durationMs(option, value ?? 1000) },
  healthCheck: { read: checkOf },
  healthCheckInterval: { read: intervalOf }
} as const satisfies TableOf<HealthOptions>

/**
 * Reads the option `health`.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function healthPlan(option: string, health: unknown): HealthPlan | null {
  if (health === undefined) return null
  if (typeof health !== 'object' || health === null || Array.isArray(health))
    throw badOption(option, health, "give thresholds, such as { eventLoopDelay: '100ms' }")
  checkNames(health, healthOptions, 'the `health` of `shed`')
  const read = readOptions(healthOptions, health, health)
  if (read.healthCheck === null && signalNames.every((signal) => read[signal] === undefined))
    throw badOption(
      option,
      health,
      'it has no threshold: give one, such as `eventLoopDelay`, or a `healthCheck`'
    )
  const { gauge } = read
  const thresholds: Thresholds = Object.fromEntries(
    signalNames
      .map((signal) => [signal, signal === 'gauge' ? gauge?.max : read[signal]] as const)
      .filter(([, threshold]) => threshold !== undefined)
  )
  const { inFlight, ...sampled } = thresholds
  return {
    thresholds,
    sampled,
    readGauge: gauge?.read ?? null,
    sampleIntervalMs: read.sampleInterval,
    healthCheck: read.healthCheck,
    healthCheckIntervalMs: read.healthCheckInterval
  }
}

function utilizationOf(option: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0 && value <= 1)) return value
  throw badOption(option, value, 'give a part of the time, above 0 and up to 1, such as 0.95')
}

function countOf(option: string, value: unknown): number | undefined {
  return value === undefined ? undefined : wholeNumber(option, value, 1)
}

function gaugeOf(option: string, value: unknown): { read: () => number; max: number } | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'function') return { read: value as () => number, max: 1 }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(option, value, 'give a function that returns a number, or { read, max }')
  checkNames(value, ['read', 'max'], '`gauge`')
  const { read, max = 1 } = value as { read?: unknown; max?: unknown }
  if (typeof read !== 'function')
    throw badOption(`${option}.read`, read, 'give a function that returns a number')
  if (typeof max !== 'number' || !(max > 0 && max < Number.POSITIVE_INFINITY))
    throw badOption(`${option}.max`, max, 'give a positive number')
  return { read: read as () => number, max }
}

function checkOf(option: string, value: unknown): HealthCheck | null {
  if (value === undefined) return null
  if (typeof value === 'function') return value as HealthCheck
  throw badOption(option, value, 'give a function that returns true or false, or a promise of it')
}

function intervalOf(option: string, value: unknown, { healthCheck }: HealthOptions): number {
  if (value !== undefined && healthCheck === undefined)
    throw badOption(option, value, 'it says how often `healthCheck` is asked: give that too')
  return durationMs(option, value ?? 5000)
}
