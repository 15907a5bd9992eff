export { HeadgateError, ipKey, keyOf, rateLimit as default, rateLimit, rateLimitOf, shed } from './index.cjs'
