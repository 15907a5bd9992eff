import {
  type Clock,
  createLimiter,
  type Decision,
  defineStrategy,
  type GuardHandler,
  guard,
  HeadgateError,
  ipKey,
  type Limiter,
  memoryStore,
  type Strategy,
  toHeaders
} from 'headgate'

const now: Clock = () => 0
const once: Strategy = defineStrategy({ name: 'once', slots: () => 1, check: () => true, charge() {} })
export const limiter: Limiter = createLimiter({
  limit: 10,
  window: '1m',
  strategy: once,
  store: memoryStore({ maxKeys: 100 }),
  now
})
createLimiter({ limits: [{ limit: 10, window: 1000, strategy: 'gcra', burst: 3 }] })

// A decision is a value, not a promise.
const decision: Decision = limiter.consume('key', 2)
export const wait: number = decision.allowed ? decision.remaining : decision.retryAfterMs
export const fields: Record<string, string> = toHeaders(decision)
export const key: string = ipKey('2001:db8::1', 64)
export const handler: GuardHandler = guard.limit(['ip', 'header:x-api-key'], 5, '15m', 'sliding-log')
export const isOurs = (error: unknown): boolean =>
  error instanceof HeadgateError && error.code === 'HEADGATE_BAD_OPTION'

// @ts-expect-error a misspelt option
createLimiter({ limit: 1, window: '1m', strateg: 'gcra' })
// @ts-expect-error a window is missing
createLimiter({ limit: 1 })
// @ts-expect-error either one policy or several
createLimiter({ limit: 1, window: '1m', limits: [] })
// @ts-expect-error numbers are not read from text
createLimiter({ limit: '1', window: '1m' })
// @ts-expect-error there is no such code
export const code = (error: HeadgateError): boolean => error.code === 'HEADGATE_NO_SUCH_CODE'
// @ts-expect-error an incomplete strategy
defineStrategy({ name: 'half', slots: () => 1 })
