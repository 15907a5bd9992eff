import type { Clock } from '../core/clock.js'
import { checkTierless, flag, type LimiterSettings, limiterSettingNames } from '../core/limiter-options.js'
import { badOption, checkNames } from '../core/options.js'
import { policyOptionNames, wholeNumber } from '../core/policy.js'
import type { Owner } from '../core/store.js'
import { checkSubnet, defaultIPv6Subnet } from './address.js'
import { addressMatcher } from './address-list.js'
import type { ForwardedSource } from './forwarded.js'
import { type HeaderPlan, type HeaderStyleName, headerPlan, type RetryAfterFormat } from './headers/index.js'
import type { KeySpec } from './key.js'
import type { RequestRateLimit } from './request-rate-limit.js'
import { type PerRequest, type RuleOptions, type RuleSource, ruleSource } from './rules.js'

/** What every limiter of HTTP requests has beside its policies. */
export interface GateSettings<Req, Res> extends LimiterSettings {
  /** Who is charged: `'ip'` (the default), `'user'`, `'header:NAME'`, a function, or a list of these. */
  readonly key?: KeySpec<Req> | undefined
  /** Units that a request takes: a positive whole number, or a function of the request. 1 if left out. */
  readonly cost?: PerRequest<Req, number> | undefined
  /** Requests that are neither counted nor limited. */
  readonly skip?: ((request: Req) => boolean | PromiseLike<boolean>) | undefined
  /** Addresses and CIDRs that are neither counted nor limited; matched before IPv6 grouping. */
  readonly allow?: readonly string[] | undefined
  /** Addresses and CIDRs that are refused with a 403. */
  readonly deny?: readonly string[] | undefined
  /** Prefix length by which IPv6 clients are grouped, 32 to 128, or false for none. 56 if left out. */
  readonly ipv6Subnet?: number | false | undefined
  /** The one header family that trusted proxies report clients in. `'x-forwarded-for'` if left out. */
  readonly forwarded?: ForwardedSource | undefined
  /**
   * Which requests count in the end. All are charged up front; one that does not count is refunded once its
   * response was sent: `'failures'` counts status 400 and above, `'successes'` those below, a function decides.
   * A request whose client goes away before the response is complete counts.
   */
  readonly countOnly?: 'failures' | 'successes' | CountPredicate<Req, Res> | undefined
  /** Decide and record, but never deny, hold back or send headers; a function is told what would have been denied. */
  readonly shadow?: boolean | ShadowListener<Req> | undefined
  /** Header style, or a legal combination. `'draft-06'` if left out. */
  readonly headers?: HeaderStyleName | readonly HeaderStyleName[] | undefined
  /** Form of Retry-After: `'delay-seconds'` if left out. */
  readonly retryAfterFormat?: RetryAfterFormat | undefined
  /** Name the fields in Access-Control-Expose-Headers, so that scripts of other origins can read them. */
  readonly exposeHeaders?: boolean | undefined
  /** A secret: each request's key, as a keyed hash under it, is sent as the partition key (draft-08 and later). */
  readonly partitionKey?: string | undefined
  /** Status of a denied response; 429 if left out. */
  readonly statusCode?: number | undefined
  /** Replaces the sentence in the body of a denied response. */
  readonly message?:
    | string
    | ((request: Req, rateLimit: RequestRateLimit) => string | PromiseLike<string>)
    | undefined
  /**
   * Answers a denied request instead; status, headers and Retry-After are set already. What it returns, or promises,
   * is sent if it has not answered itself; the default answer is, if it returns nothing either.
   */
  readonly onLimited?: ((request: Req, response: Res, rateLimit: RequestRateLimit) => unknown) | undefined
}

/** Decides, after the response, whether a request counts. */
export type CountPredicate<Req, Res> = (
  request: Req,
  response: Res,
  status: number
) => boolean | PromiseLike<boolean>

/** Told of a request that would have been denied. */
export type ShadowListener<Req> = (request: Req, rateLimit: RequestRateLimit) => void

/** Options of one policy, or `limits` for several on the same key. */
export type GateOptions<Req, Res> = GateSettings<Req, Res> &
  ((RuleOptions<Req> & { readonly limits?: undefined }) | { readonly limits: readonly RuleOptions<Req>[] })

/** The names of the settings that a route may inherit from its plugin. */
export const gateSettingNames = [
  ...limiterSettingNames,
  'key',
  'cost',
  'skip',
  'allow',
  'deny',
  'ipv6Subnet',
  'forwarded',
  'countOnly',
  'shadow',
  'headers',
  'retryAfterFormat',
  'exposeHeaders',
  'partitionKey',
  'statusCode',
  'message',
  'onLimited'
] as const

/** Options, validated and compiled once. */
export interface GatePlan<Req, Res> {
  readonly rules: RuleSource<Req>
  readonly key: KeySpec<Req>
  readonly cost: PerRequest<Req, number>
  readonly skip: GateSettings<Req, Res>['skip'] | null
  readonly allows: ((address: string) => boolean) | null
  readonly denies: ((address: string) => boolean) | null
  readonly ipv6Subnet: number | false
  readonly forwarded: ForwardedSource
  readonly counts: CountPredicate<Req, Res> | null
  readonly isShadow: boolean
  readonly onShadow: ShadowListener<Req> | null
  readonly headers: HeaderPlan
  readonly exposes: boolean
  readonly partitionSecret: string | null
  readonly statusCode: number
  readonly message: NonNullable<GateSettings<Req, Res>['message']> | null
  readonly onLimited: NonNullable<GateSettings<Req, Res>['onLimited']> | null
  readonly now: Clock | undefined
}

/**
 * Compiles the options of a gate, whose counters are the owner's.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function gatePlan<Req, Res>(
  options: GateOptions<Req, Res>,
  where: string,
  owner: Owner = { mayShare: true }
): GatePlan<Req, Res> {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { limit: 100, window: '1m' }")
  const own = options.limits === undefined ? policyOptionNames : (['limits'] as const)
  if (options.limits !== undefined) checkTierless(options)
  checkNames(options, [...own, ...gateSettingNames], where)
  const part = <T extends object>(names: readonly string[]) => pick(options, names) as T
  const isList = options.limits !== undefined
  if (isList && (!Array.isArray(options.limits) || options.limits.length === 0))
    throw badOption('limits', options.limits, "give a list of policies such as [{ limit: 10, window: '1s' }]")
  const tiers = options.limits ?? [part<RuleOptions<Req>>(policyOptionNames)]
  const { shadow = false, message = null } = options
  const headers = headerPlan(options.headers ?? 'draft-06', {
    retryAfterFormat: options.retryAfterFormat ?? 'delay-seconds'
  })
  const rules = ruleSource(tiers, isList, part<LimiterSettings>(limiterSettingNames), owner)
  return {
    rules,
    key: options.key ?? 'ip',
    cost: costOf(options.cost, rules),
    skip: optionalFunction('skip', options.skip),
    allows: matcherOf('allow', options.allow),
    denies: matcherOf('deny', options.deny),
    ipv6Subnet: options.ipv6Subnet === undefined ? defaultIPv6Subnet : checkSubnet(options.ipv6Subnet),
    forwarded: forwardedOf(options.forwarded),
    counts: countsOf(options.countOnly),
    isShadow: typeof shadow === 'function' || flag('shadow', shadow),
    onShadow: typeof shadow === 'function' ? shadow : null,
    headers,
    exposes: flag('exposeHeaders', options.exposeHeaders),
    partitionSecret: secretOf(options.partitionKey),
    statusCode: options.statusCode === undefined ? 429 : statusOf(options.statusCode),
    message: messageOf(message),
    onLimited: optionalFunction('onLimited', options.onLimited),
    now: options.now
  }
}

/** The part of an options object that has these names. */
export function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)))
}

function optionalFunction<F>(option: string, value: F | undefined): F | null {
  if (value === undefined) return null
  if (typeof value === 'function') return value
  throw badOption(option, value, 'give a function')
}

function matcherOf(
  option: string,
  list: readonly string[] | undefined
): ((address: string) => boolean) | null {
  if (typeof list === 'function')
    throw badOption(option, list, 'give a list of addresses and ranges; for a function use `skip`')
  return list === undefined ? null : addressMatcher(option, list)
}

function messageOf<M>(message: M): M {
  if (message === null || typeof message === 'string' || typeof message === 'function') return message
  throw badOption(
    'message',
    message,
    'give a text or a function; for a body of your own, return it from `onLimited`'
  )
}

function costOf<Req>(
  cost: PerRequest<Req, number> | undefined,
  { fixed }: RuleSource<Req>
): PerRequest<Req, number> {
  if (cost === undefined) return 1
  if (typeof cost === 'function') return cost
  const least = Math.min(...(fixed?.policies ?? []).map((policy) => policy.capacity))
  if (wholeNumber('cost', cost, 1) > least)
    throw badOption('cost', cost, `a limit admits at most ${least} at once, so nobody would ever be admitted`)
  return cost
}

function countsOf<Req, Res>(countOnly: GateSettings<Req, Res>['countOnly']): CountPredicate<Req, Res> | null {
  if (countOnly === undefined) return null
  if (countOnly === 'failures') return (_request, _response, status) => status >= 400
  if (countOnly === 'successes') return (_request, _response, status) => status < 400
  if (typeof countOnly === 'function') return countOnly
  throw badOption('countOnly', countOnly, "give 'failures', 'successes' or a function")
}

function forwardedOf(value: unknown): ForwardedSource {
  if (value === undefined || value === 'x-forwarded-for' || value === 'forwarded')
    return value ?? 'x-forwarded-for'
  throw badOption('forwarded', value, "give 'x-forwarded-for' or 'forwarded', the one that your proxy sets")
}

function secretOf(value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && value.length >= 16) return value
  throw badOption(
    'partitionKey',
    typeof value === 'string' ? '…' : value,
    'give a secret of at least 16 characters'
  )
}

function statusOf(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599) return value as number
  throw badOption('statusCode', value, 'give an error status, 400 to 599')
}
