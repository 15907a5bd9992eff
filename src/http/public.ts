/*
 * What the entries of all frameworks export beside their own: what users need of headgate there, and every type that their
 * own declarations may come to name, as that of `export const api = rateLimit({ … })`.
 */
export type { WorkResult } from '../core/adaptive/adaptive-limit.js'
export type { AdaptiveName, AdaptiveOptions } from '../core/adaptive/read-adaptive.js'
export type { AsyncStore } from '../core/async-store.js'
export type { BanOptions } from '../core/bans/ban-terms.js'
export type { Ban, BansOptions, BansPage } from '../core/bans/listing.js'
export type { Clock } from '../core/clock.js'
export type { Decision } from '../core/decision.js'
export type { Delay, DelayOptions } from '../core/delay.js'
export type { Duration } from '../core/duration.js'
export { type ErrorCode, HeadgateError } from '../core/errors.js'
export type { Key } from '../core/key-and-cost.js'
export type { Permit } from '../core/permit.js'
export type { Policy } from '../core/policy.js'
export type {
  ConcurrencyOptions,
  PolicyOptions,
  StrategyName,
  WindowOptions
} from '../core/policy-options.js'
export type { PolicyOrLimits } from '../core/policy-or-limits.js'
export type { Store } from '../core/store.js'
export type { Growth, Rule, RuleOption, Strategy } from '../core/strategy.js'
export type { OnStoreError, Source } from '../core/verdict.js'
export { ipKey } from './address.js'
export type { GateSettings } from './gate-settings.js'
export type { HeaderStyleName } from './headers/index.js'
export type { CountPredicate, HttpSettings, ShadowListener } from './http-options.js'
export { type KeyFunction, type KeySpec, keyOf } from './key.js'
export type { AnyRequest, AsyncKeyedLimiter, KeyedLimiter, KeyedLimiterOn } from './keyed-limiter.js'
export type { Known, Who } from './known.js'
export type { ListedRule } from './limit-parts.js'
export type { LimitRules, NoPlans } from './limits.js'
export type { GateOptions } from './options.js'
export type { PlanOf, PlanOptions, PlanRule } from './plans.js'
export { rateLimitOf } from './records.js'
export type { RequestFacts } from './request-facts.js'
export type { RequestRateLimit } from './request-rate-limit.js'
export type { RequestRule, RequestRules, RulesOption, RuleTable } from './request-rules.js'
export type { ConcurrencyRule, PerRequest, RuleOptions, WindowRule } from './rules.js'
