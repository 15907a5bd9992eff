export { HeadgateError } from '../core/errors.js'
export type { SharedHandle } from './buffer.js'
export { type SharedStore, type SharedStoreOptions, type SharedStoreSource, sharedStore } from './store.js'
