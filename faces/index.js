export {
  createLimiter,
  defineStrategy,
  guard,
  HeadgateError,
  ipKey,
  Limit,
  limitsOf,
  memoryStore,
  toHeaders
} from './index.cjs'
