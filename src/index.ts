export type { Ran, WaitOptions, WaitSignal } from './core/acquiring.js'
export type { AsyncLimiter } from './core/async-limiter.js'
export type { Limiter, QueueingLimiter } from './core/limiter.js'
export { defineStrategy } from './core/registry.js'
export {
  Limit,
  type LimitDecorator,
  type LimitedRequest,
  type LimitFactory,
  type LimitOptions
} from './decorators/limit.js'
export { limitsOf, type MethodLimit } from './decorators/limits-of.js'
export type { Class } from './decorators/marks.js'
export { type GuardHandler, guard } from './hosts/guard.js'
export * from './http/public.js'
export { type HeaderDecision, toHeaders } from './http/to-headers.js'
export { createLimiter } from './limiter/create-limiter.js'
export type { LimiterOptions, LimiterSettings, TierOptions } from './limiter/options.js'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/store.js'
