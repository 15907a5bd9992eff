import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import type { OptionTable, TableOf } from '../core/options.js'
import { limitOptions } from '../core/policy-or-limits.js'
import { oneOf } from '../core/readers.js'
import { type GateSettings, gateSettings } from '../http/gate-settings.js'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../http/keyed-limiter.js'
import type { LimitRules } from '../http/limits.js'
import { namedPolicies } from '../http/named-policies.js'
import type { GateOptions } from '../http/options.js'

const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/** The hook that a limiter runs in. */
export type LimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'

/** The options that limits have on Fastify only. */
export interface HookSettings {
  /**
   * The hook in which it runs. Defaults to `'onRequest'`, before anything is parsed; for keys that need `request.user`,
   * to `'preHandler'`.
   */
  readonly hook?: LimitHook | undefined
}

/** How those are read. */
export const hookOptions = {
  hook: {
    read: oneOf(hooks, `give one of ${hooks.map((name) => `'${name}'`).join(', ')}`)
  }
} as const satisfies TableOf<HookSettings>

/** The settings of a Fastify limiter, without its policies. */
export type FastifyLimitSettings = GateSettings<FastifyRequest, FastifyReply> & HookSettings

/** One policy, `limits` for several, `plans`, or rules of a file. */
export type FastifyLimitRules = LimitRules<FastifyRequest>

/** The options that a route's limit inherits from its plugin if it leaves them out. */
export const inheritedOptions: OptionTable = { ...gateSettings, ...hookOptions }

/** All options of the plugin. */
export const pluginOptions: OptionTable = { ...limitOptions, ...inheritedOptions, ...namedPolicies }

/** What a route's own `limit` may say: a policy of its own, nothing at all, or one of the plugin's policies. */
export type RouteLimit = FastifyRouteLimit | false | PolicyName

/** A route's own limit; whatever it leaves out is inherited from the plugin. */
export type FastifyRouteLimit = FastifyLimitSettings & FastifyLimitRules

/** Names of the plugin's policies. Extend it to have them checked: `interface LimitPolicies { login: true }`. */
// biome-ignore lint/suspicious/noEmptyInterface: users extend it by declaration merging
export interface LimitPolicies {}

/** The names that `LimitPolicies` has been given, or any text. */
export type PolicyName = keyof LimitPolicies extends never ? string : Extract<keyof LimitPolicies, string>

/** Options of the plugin. Without a limit of its own it limits only routes that have one. */
export type RateLimitPluginOptions = FastifyLimitSettings & {
  /** Named policies; all routes that name one share its counter. */
  readonly policies?: { readonly [Name in PolicyName]?: FastifyRouteLimit } | undefined
} & (
    | FastifyLimitRules
    | {
        readonly limit?: undefined
        readonly window?: undefined
        readonly limits?: undefined
        readonly rules?: undefined
        readonly concurrency?: undefined
        readonly plans?: undefined
      }
  )

/** Options of a gate, with the plugin's settings filled in. */
export type ResolvedLimit = GateOptions<FastifyRequest, FastifyReply>

/** A route, by its method and its whole path, as it was declared. */
export interface RouteName {
  readonly method: string
  readonly url: string
}

/** What `app.limiterOf` takes: the plugin's own limit, a policy of it, or what limits a route. */
export type LimitTarget = PolicyName | 'default' | RouteName

/** A hook of Fastify that limits. */
export interface LimitHookFunction {
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void
  /** The limiter behind it, to look up, reset or block by hand. */
  readonly limiter: KeyedLimiter | AsyncKeyedLimiter
}
