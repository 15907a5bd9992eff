export {
  createLimiter,
  defineStrategy,
  guard,
  HeadgateError,
  ipKey,
  Limit,
  limitsOf,
  memoryStore,
  rateLimitOf,
  toHeaders
} from './index.cjs'
