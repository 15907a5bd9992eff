export * from './index.cjs'
export { rateLimit as default } from './index.cjs'
