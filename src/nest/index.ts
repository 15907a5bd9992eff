export type { LimitDecorator, LimitFactory, LimitOptions } from '../decorators/limit.js'
export * from '../http/public.js'
export * from '../shed/public.js'
export { RateLimitException } from './exception.js'
export { type LimitGuard, limitGuard, RateLimitGuard } from './guard.js'
export { Limit } from './limit.js'
export type { Message } from './message.js'
export { RATE_LIMIT_OPTIONS, RateLimitModule, type RateLimitModuleAsyncOptions } from './module.js'
export type {
  GuardLimit,
  LimitPolicies,
  LimitStage,
  NestLimit,
  NestLimitSettings,
  NestRequest,
  PolicyName,
  RateLimitModuleOptions
} from './options.js'
export { RateLimitService } from './service.js'
export { type NestShed, Shed, ShedException, type ShedGuard, shed } from './shed.js'
export type { LimitedHandler, LimitTarget } from './targets.js'
