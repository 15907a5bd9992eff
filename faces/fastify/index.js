export { HeadgateError, ipKey, keyOf, rateLimit as default, rateLimit, rateLimitOf } from './index.cjs'
