import { buildLimiter, type LimiterOptions } from '../../../src/core/limiter-options.js'
import type { PolicyOptions } from '../../../src/core/policy.js'
import { type Decision, memoryStore, type Store } from '../../../src/index.js'

/** A start that windows of 1, 4, 10, 20, 60 and 300 s share, so that "T" of a case is the begin of a window. */
export const T = 1_700_000_400_000
export const s = 1000

type Suited = LimiterOptions & { readonly store?: never; readonly now?: never }

export const everyStrategy: readonly (readonly [string, Partial<PolicyOptions>])[] = [
  ['fixed-window', {}],
  ['fixed-window from the first request', { align: 'first-request' }],
  ['sliding-window', { strategy: 'sliding-window' }],
  ['sliding-log', { strategy: 'sliding-log' }],
  ['token-bucket', { strategy: 'token-bucket' }],
  ['gcra', { strategy: 'gcra' }]
]

/** Decisions as the statuses that they become. */
export const admitted = (decisions: readonly Decision[]) =>
  decisions.map(({ allowed }) => (allowed ? 200 : 429))

/** The Retry-After of a decision. */
export const seconds = ({ retryAfterMs }: Decision) => Math.ceil(retryAfterMs / 1000)

/** Gives an empty store each time. */
export type MakeStore = (options?: { maxKeys?: number }) => Store

/** A limiter on a clock of its own; times are ms after T. */
export function limiterOn(options: Suited, store: Store) {
  let time = T
  const limiter = buildLimiter({ ...options, store, now: () => time } as LimiterOptions, memoryStore)
  const at = (ms: number) => {
    time = T + ms
    return limiter
  }
  const hits = (count: number, ms: number, key: string | number = 'A') =>
    Array.from({ length: count }, () => at(ms).consume(key))
  const hit = (ms: number, key: string | number = 'A', cost = 1) => at(ms).consume(key, cost)
  return { limiter, at, hit, hits }
}
