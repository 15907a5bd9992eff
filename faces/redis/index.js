export { HeadgateError, redisStore } from './index.cjs'
