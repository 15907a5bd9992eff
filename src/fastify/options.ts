import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import type { AsyncLimiter } from '../core/async-limiter.js'
import type { Limiter } from '../core/limiter.js'
import type { GateOptions, GateSettings } from '../http/options.js'
import type { RuleOptions } from '../http/rules.js'

/** The hook that a limiter runs in. */
export type LimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'

/** The settings of a Fastify limiter, without its policies. */
export type FastifyLimitSettings = GateSettings<FastifyRequest, FastifyReply> & {
  /**
   * The hook that it runs in: `'onRequest'`, before anything is parsed, or for keys that need `request.user`
   * `'preHandler'`, if left out.
   */
  readonly hook?: LimitHook | undefined
}

/** One policy, or `limits` for several. */
export type FastifyLimitRules =
  | (RuleOptions<FastifyRequest> & { readonly limits?: undefined })
  | { readonly limits: readonly RuleOptions<FastifyRequest>[] }

/** What a route's own `limit` may say: a policy of its own, nothing at all, or one of the plugin's policies. */
export type RouteLimit = FastifyRouteLimit | false | PolicyName

/** A route's own limit; what it leaves out it has from the plugin. */
export type FastifyRouteLimit = FastifyLimitSettings & FastifyLimitRules

/** Names of the plugin's policies. Extend it to have them checked: `interface LimitPolicies { login: true }`. */
// biome-ignore lint/suspicious/noEmptyInterface: users extend it by declaration merging
export interface LimitPolicies {}

/** The names that `LimitPolicies` has been given, or any text. */
export type PolicyName = keyof LimitPolicies extends never ? string : Extract<keyof LimitPolicies, string>

/** Options of the plugin. With no policy of its own, it limits only the routes that say so. */
export type RateLimitPluginOptions = FastifyLimitSettings & {
  /** Named policies; all routes that name one share its counter. */
  readonly policies?: { readonly [Name in PolicyName]?: FastifyRouteLimit } | undefined
} & (
    | FastifyLimitRules
    | { readonly limit?: undefined; readonly window?: undefined; readonly limits?: undefined }
  )

/** Options of a gate, with the plugin's settings filled in. */
export type ResolvedLimit = GateOptions<FastifyRequest, FastifyReply>

/** A hook of Fastify that limits. */
export interface LimitHookFunction {
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void
  /** The limiter behind it, to peek, reset or block by key; null where limits or windows are computed. */
  readonly limiter: Limiter | AsyncLimiter | null
}
