export type { AsyncStore } from '../core/async-store.js'
export { HeadgateError } from '../core/errors.js'
export type { Policy } from '../core/policy.js'
export type { Blocked, BlocksFound } from '../core/store.js'
export { type OnStoreError, Out, outSize, type Verdict } from '../core/verdict.js'
export type {
  Backend,
  Call,
  Change,
  Decide,
  LimiterTerms,
  Locking,
  Operating,
  Request,
  Rules,
  Runner,
  Swapped,
  Swapping
} from './backend.js'
export { blockIn } from './block-in.js'
export type { Changed, Decided, Operation, Repay } from './operation.js'
export type { RemoteStoreOptions, StoreState } from './options.js'
export type { Holding } from './permits/holdings.js'
export type { PermitId } from './permits/permit-ids.js'
export { type RemoteStore, remoteStore } from './store.js'
