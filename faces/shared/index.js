export { HeadgateError, sharedStore } from './index.cjs'
