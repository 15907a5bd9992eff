import type { WindowOptions } from '../../../src/core/policy-options.js'
import type { Decision } from '../../../src/index.js'
import { type ClockedStore, clockedStore, limiterIn, type MakeStore, type Suited } from '../clocked-store.js'

/** A start that windows of 1, 4, 10, 20, 60 and 300 s share, so that "T" of a case is the begin of a window. */
export const T = 1_700_000_400_000
export const s = 1000

export const everyStrategy: readonly (readonly [string, Partial<WindowOptions>])[] = [
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

/** Calls for one after the other, each once the last has its answer. */
export async function inTurn<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  for (const item of items) answers.push(await call(item))
  return answers
}

/** What makes limiters, each on an empty store unless it is given one. */
export function suited(makeStore: MakeStore) {
  const fresh = () => clockedStore(makeStore, T)
  const on = (options: Suited, store = fresh()) => limiterOn(options, store)
  return { fresh, on }
}

/** A limiter on the clock of its store; times are ms after T. */
function limiterOn(options: Suited, store: ClockedStore) {
  const limiter = limiterIn(store, options)
  const at = (ms: number) => {
    store.clock.time = T + ms
    return limiter
  }
  const hit = async (ms: number, key: string | number = 'A', cost = 1): Promise<Decision> =>
    at(ms).consume(key, cost)
  const hitsAt = (times: readonly number[], key?: string | number) => inTurn(times, (ms) => hit(ms, key))
  const hits = (count: number, ms: number, key?: string | number) =>
    hitsAt(Array<number>(count).fill(ms), key)
  return { limiter, at, hit, hits, hitsAt }
}
