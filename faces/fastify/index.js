export { HeadgateError, ipKey, rateLimit as default, rateLimit, rateLimitOf } from './index.cjs'
