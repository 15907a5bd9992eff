export { HeadgateError, ipKey, rateLimit as default, rateLimit } from './index.cjs'
