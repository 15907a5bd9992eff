import { type Duration, durationMs } from '../duration.js'
import { badOption, checkNames, nearest } from '../options.js'
import { wholeNumber } from '../readers.js'
import { aimd } from './aimd.js'
import type { AdaptiveAlgorithm, AdaptiveRule } from './algorithm.js'
import { gradient } from './gradient.js'

/** The names of the algorithms that find a concurrency limit. */
export type AdaptiveName = 'gradient' | 'aimd'

/** A concurrency limit that finds itself, as it is written. */
export interface AdaptiveOptions {
  /** `'gradient'` goes by latencies, `'aimd'` by failures and time-outs. */
  readonly adaptive: AdaptiveName
  /** The least limit; 1 if left out. */
  readonly min?: number | undefined
  /** The largest limit; 1000 if left out. */
  readonly max?: number | undefined
  /** The limit before anything is known; 20 if left out, or what of `min` and `max` is nearest to it. */
  readonly initial?: number | undefined
  /** A request that takes longer is a failure. 5 s for `'aimd'` if left out; for `'gradient'` then none is. */
  readonly timeout?: Duration | undefined
  /**
   * For `'gradient'`: how many times as long as at light load requests may take before the limit gives way. From 1.1 to
   * 10; 1.5 if left out.
   */
  readonly tolerance?: number | undefined
}

/** An algorithm and the rule that it goes by. */
export interface Adaptive {
  readonly algorithm: AdaptiveAlgorithm
  readonly rule: AdaptiveRule
}

/** The algorithms, by name. */
export const adaptiveAlgorithms: Readonly<Record<AdaptiveName, AdaptiveAlgorithm>> = Object.freeze({
  gradient,
  aimd
})

const optionNames = [
  'adaptive',
  'min',
  'max',
  'initial',
  'timeout',
  'tolerance'
] satisfies readonly (keyof AdaptiveOptions)[]

/** The defaults, as the docs have them. */
const defaults = {
  min: 1,
  max: 1000,
  initial: 20,
  aimdTimeoutMs: 5000,
  tolerance: 1.5,
  measureEveryMs: 30_000
}

/**
 * Reads `{ adaptive: 'gradient', min, max, … }`.
 * @param option what error messages call it, such as `concurrency`
 * @throws HeadgateError `HEADGATE_BAD_OPTION` or `HEADGATE_UNKNOWN_OPTION`
 */
export function readAdaptive(option: string, value: unknown): Adaptive {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(option, value, "give { adaptive: 'gradient' }, with `min` and `max` as you need them")
  checkNames(value, optionNames, `\`${option}\``)
  const options: { readonly [Name in keyof AdaptiveOptions]?: unknown } = value
  const algorithm = algorithmOf(`${option}.adaptive`, options.adaptive)
  const min = wholeNumber(`${option}.min`, options.min ?? defaults.min, 1)
  const max = wholeNumber(`${option}.max`, options.max ?? Math.max(defaults.max, min), 1)
  if (max < min) throw badOption(`${option}.max`, max, `give at least \`min\`, which is ${min}`)
  const nearestInitial = Math.min(max, Math.max(min, defaults.initial))
  const initial = wholeNumber(`${option}.initial`, options.initial ?? nearestInitial, 1)
  if (initial < min || initial > max)
    throw badOption(`${option}.initial`, initial, `give a number from \`min\` to \`max\`, ${min} to ${max}`)
  const rule = {
    min,
    max,
    initial,
    timeoutMs: timeoutOf(`${option}.timeout`, options.timeout, algorithm),
    tolerance: toleranceOf(`${option}.tolerance`, options.tolerance, algorithm),
    measureEveryMs: defaults.measureEveryMs,
    seed: Math.floor(Math.random() * 2 ** 32)
  }
  return Object.freeze({ algorithm, rule: Object.freeze(rule) })
}

function algorithmOf(option: string, value: unknown): AdaptiveAlgorithm {
  const names = Object.keys(adaptiveAlgorithms) as AdaptiveName[]
  const found = names.find((name) => name === value)
  if (found !== undefined) return adaptiveAlgorithms[found]
  const near = typeof value === 'string' ? nearest(value, names) : undefined
  throw badOption(option, value, near === undefined ? "give 'gradient' or 'aimd'" : `did you mean '${near}'?`)
}

function timeoutOf(option: string, value: unknown, algorithm: AdaptiveAlgorithm): number {
  if (value !== undefined) return durationMs(option, value)
  return algorithm === aimd ? defaults.aimdTimeoutMs : Number.POSITIVE_INFINITY
}

function toleranceOf(option: string, value: unknown, algorithm: AdaptiveAlgorithm): number {
  if (value === undefined) return defaults.tolerance
  if (algorithm !== gradient)
    throw badOption(option, value, `'${algorithm.name}' has no meaning for it; leave it out`)
  if (typeof value === 'number' && value >= 1.1 && value <= 10) return value
  throw badOption(option, value, 'give a number from 1.1 to 10, such as 1.5')
}
