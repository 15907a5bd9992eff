import {
  createLimiter,
  defineStrategy,
  guard,
  ipKey,
  keyOf,
  Limit,
  limitsOf,
  memoryStore,
  toHeaders
} from 'headgate'

export const limiter = createLimiter({ limit: 5, window: '1m' })
export const several = createLimiter({ limits: [{ limit: 5, window: '1m' }] })
export const store = memoryStore()
export const strategy = defineStrategy({ name: 'mine', slots: () => 1, check: () => true, charge() {} })
export const handler = guard.limit('ip', 5, '1m')
export const byHand = handler.limiter
export const decision = limiter.consume('key')
export const { policies } = limiter
export const fields = toHeaders(decision)
export const keys = [ipKey('::1'), keyOf('ip', { ip: '::1' })]
export const mark = Limit({ limit: 5, window: '1m' })
export const limit = Limit
export const guards = guard
export class Reports {
  list() {}
}
export const limits = limitsOf(Reports)
export const made = limitsOf(Reports, (_limit) => guard.limit('ip', 1, '1m'))
export const wrap = () => createLimiter({ limit: 5, window: '1m' })
