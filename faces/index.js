export {
  createLimiter,
  defineStrategy,
  guard,
  HeadgateError,
  ipKey,
  keyOf,
  Limit,
  limitsOf,
  memoryStore,
  rateLimitOf,
  toHeaders
} from './index.cjs'
