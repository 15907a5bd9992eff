import type { IncomingHttpHeaders } from 'node:http'
import type { OptionTable, TableOf } from '../core/options.js'
import { flag, oneOf } from '../core/readers.js'
import type { LimitOptions } from '../decorators/limit.js'
import { gateOptions } from '../http/gate-settings.js'
import { namedPolicies } from '../http/named-policies.js'
import type { GateOptions } from '../http/options.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'

/**
 * What functions in options receive unless they declare the platform's own request type: the request of Express or
 * Fastify, and for messages of gateways and microservices a `Message`.
 */
export interface NestRequest {
  readonly headers: IncomingHttpHeaders
  readonly method?: string
  readonly url?: string
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  readonly ip?: string
  readonly user?: unknown
  rateLimit?: RequestRateLimit | null
}

/** When a limit is decided: before all guards, or after them, when `request.user` is known. */
export type LimitStage = 'guard' | 'interceptor'

/** The settings that only limits in Nest have. */
export interface NestLimitSettings {
  /** Defaults to `'guard'`, or for keys that need `request.user` to `'interceptor'`. */
  readonly stage?: LimitStage | undefined
  /**
   * Whether the handlers under this limit share its counters (the default) or each has its own. It makes no difference
   * for a limit on one method.
   */
  readonly scope?: 'shared' | 'handler' | undefined
}

/** How those are read. */
export const nestOptions = {
  stage: { read: oneOf(['guard', 'interceptor'], "give 'guard' or 'interceptor'") },
  scope: { read: oneOf(['shared', 'handler'], "give 'shared' or 'handler'") }
} as const satisfies TableOf<NestLimitSettings>

/** Names of the module's policies. Extend it to have them checked: `interface LimitPolicies { login: true }`. */
// biome-ignore lint/suspicious/noEmptyInterface: users extend it by declaration merging
export interface LimitPolicies {}

/** The names that `LimitPolicies` has been given, or any text. */
export type PolicyName = keyof LimitPolicies extends never ? string : Extract<keyof LimitPolicies, string>

/** A limit of the module, one of its policies, or one that `@Limit` sets; that may leave out what it inherits. */
export type NestLimit<Req = NestRequest, Res = unknown> = LimitOptions<Req, Res> & NestLimitSettings

/** A limit for a guard of its own, with one policy, or `limits` for several. */
export type GuardLimit<Req = NestRequest, Res = unknown> = GateOptions<Req, Res>

/** Options of `RateLimitModule`. Without a limit of its own it limits only what has `@Limit`. */
export type RateLimitModuleOptions<Req = NestRequest, Res = unknown> = NestLimit<Req, Res> & {
  /** Named policies, for `@Limit('login')`; all handlers that name one share its counters. */
  readonly policies?: { readonly [Name in PolicyName]?: NestLimit<Req, Res> } | undefined
  /**
   * Whether the module's limit and those of `@Limit` hold everywhere (the default), or only where
   * `@UseGuards(RateLimitGuard)` or `@Limit` stands.
   */
  readonly global?: boolean | undefined
}

/** All options of the module. */
export const moduleOptions: OptionTable = {
  ...gateOptions,
  ...nestOptions,
  ...namedPolicies,
  global: { read: globalOf }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but true, false or undefined, which is true */
export function globalOf(option: string, value: unknown): boolean {
  return value === undefined || flag(option, value)
}
