import { badOption, type OptionTable, type TableOf } from '../core/options.js'
import { flag, oneOf, wholeNumber } from '../core/readers.js'
import { checkSubnet, defaultIPv6Subnet } from './address.js'
import { addressMatcher } from './address-list.js'
import type { ForwardedSource } from './forwarded.js'
import type { HeaderPlan, HeaderStyleName, RetryAfterFormat } from './headers/index.js'
import type { KeySpec } from './key.js'
import type { RequestRateLimit } from './request-rate-limit.js'
import type { PerRequest, RuleSource } from './rules.js'

/** The options that only limiters of HTTP requests have. */
export interface HttpSettings<Req, Res> {
  /** Who is charged: `'ip'` (the default), `'user'`, `'header:NAME'`, a function, or a list of these. */
  readonly key?: KeySpec<Req> | undefined
  /**
   * Units that a request takes: a positive whole number, or a function of the request. One that returns 0 charges nothing,
   * and the request is admitted unless its key is blocked. 1 if left out.
   */
  readonly cost?: PerRequest<Req, number> | undefined
  /** Returns true for requests that are neither counted nor limited. */
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
   * Which requests count in the end. Every request is charged up front; one that does not count is refunded after its
   * response has been sent: `'failures'` counts status 400 and above, `'successes'` those below, a function decides.
   */
  readonly countOnly?: 'failures' | 'successes' | CountPredicate<Req, Res> | undefined
  /**
   * What a request is to `countOnly` whose client goes away before the response is complete: `'counted'` in any case (the
   * default), a `'failure'`, as if by status 499, or a `'success'`, as if by 200.
   */
  readonly aborted?: 'counted' | 'failure' | 'success' | undefined
  /**
   * Decide and record, but never deny, hold back or send headers; a function is called for each request that would have
   * been denied.
   */
  readonly shadow?: boolean | ShadowListener<Req> | undefined
  /** Header style, or a legal combination. `'draft-06'` if left out. */
  readonly headers?: HeaderStyleName | readonly HeaderStyleName[] | undefined
  /** Form of Retry-After: `'delay-seconds'` if left out. */
  readonly retryAfterFormat?: RetryAfterFormat | undefined
  /** List the fields in Access-Control-Expose-Headers so that scripts from other origins can read them. */
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
   * Handles a denied request in place of the default body; status, headers and Retry-After are already set. Its result
   * is sent, unless it has sent a response itself; if it returns nothing, the default body is sent.
   */
  readonly onLimited?: ((request: Req, response: Res, rateLimit: RequestRateLimit) => unknown) | undefined
}

/** Decides, after the response, whether a request counts. */
export type CountPredicate<Req, Res> = (
  request: Req,
  response: Res,
  status: number
) => boolean | PromiseLike<boolean>

/** Called for a request that would have been denied. */
export type ShadowListener<Req> = (request: Req, rateLimit: RequestRateLimit) => void

/** What readers must know of other options. */
export interface HttpTerms {
  readonly rules: Pick<RuleSource<never>, 'policies'>
  readonly headers: Pick<HeaderPlan, 'lists'>
  readonly countOnly: unknown
}

/**
 * How those are read. `headerPlan` reads `headers` and `retryAfterFormat`, which belong together, and `keyReader` reads
 * `key`, which needs the host.
 */
export const httpOptions = {
  key: {},
  cost: { read: costOf },
  skip: { read: functionOrNull },
  allow: { read: matcherOf },
  deny: { read: matcherOf },
  ipv6Subnet: {
    read: (_option: string, value: unknown) => (value === undefined ? defaultIPv6Subnet : checkSubnet(value))
  },
  forwarded: {
    read: (option: string, value: unknown) => forwardedBy(option, value) ?? 'x-forwarded-for'
  },
  countOnly: { read: countsOf },
  aborted: { read: abortedStatusOf, dependsOn: ['countOnly'] },
  shadow: {
    read: (option: string, value: unknown) => (isFunction(value) ? value : flag(option, value))
  },
  headers: {},
  retryAfterFormat: {},
  exposeHeaders: { read: flag },
  partitionKey: { read: secretOf, dependsOn: ['headers'] },
  statusCode: { read: statusOf },
  message: { read: messageOf },
  onLimited: { read: functionOrNull }
} as const satisfies OptionTable & TableOf<HttpSettings<never, never>>

type AnyFunction = (...args: never[]) => unknown

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function'
}

function functionOrNull(option: string, value: unknown): AnyFunction | null {
  if (value === undefined) return null
  if (isFunction(value)) return value
  throw badOption(option, value, 'give a function')
}

function matcherOf(option: string, list: unknown): ((address: string) => boolean) | null {
  if (typeof list === 'function')
    throw badOption(option, list, 'give a list of addresses and ranges; for a function use `skip`')
  const matches = list === undefined ? null : addressMatcher(option, list as readonly string[])
  // An empty list is none: where nobody is refused, nobody is refused for what cannot be read.
  return matches === null || (list as readonly string[]).length === 0 ? null : matches
}

function messageOf(option: string, value: unknown): string | AnyFunction | null {
  if (value === undefined) return null
  if (typeof value === 'string' || isFunction(value)) return value
  throw badOption(
    option,
    value,
    'give a text or a function; for a body of your own, return it from `onLimited`'
  )
}

/** Reads what a request takes: at most what any of the policies ever admits at once. */
export function costOf(
  option: string,
  value: unknown,
  { rules }: Pick<HttpTerms, 'rules'>
): number | AnyFunction {
  if (value === undefined) return 1
  if (isFunction(value)) return value
  const cost = wholeNumber(option, value, 1)
  const least = Math.min(...rules.policies.map((policy) => policy.capacity))
  if (cost > least)
    throw badOption(option, cost, `a limit admits at most ${least} at once, so nobody would ever be admitted`)
  return cost
}

function countsOf(option: string, value: unknown): AnyFunction | null {
  if (value === undefined) return null
  if (value === 'failures') return (_request: unknown, _response: unknown, status: number) => status >= 400
  if (value === 'successes') return (_request: unknown, _response: unknown, status: number) => status < 400
  if (isFunction(value)) return value
  throw badOption(option, value, "give 'failures', 'successes' or a function")
}

const abortedAs = oneOf(['counted', 'failure', 'success'], "give 'counted', 'failure' or 'success'")

/** The status that stands for one that the client did not wait for: 499 is nginx's for that. */
const abortedStatuses = { counted: null, failure: 499, success: 200 } as const

function abortedStatusOf(option: string, value: unknown, { countOnly }: HttpTerms): number | null {
  const aborted = abortedAs(option, value) ?? 'counted'
  if (value !== undefined && countOnly === undefined)
    throw badOption(option, value, 'it says what aborted requests are to `countOnly`: give that too')
  return abortedStatuses[aborted]
}

const forwardedBy = oneOf(
  ['x-forwarded-for', 'forwarded'],
  "give 'x-forwarded-for' or 'forwarded', the one that your proxy sets"
)

function secretOf(option: string, value: unknown, { headers }: HttpTerms): string | null {
  if (value === undefined) return null
  const shown = typeof value === 'string' ? '…' : value
  if (typeof value !== 'string' || value.length < 16)
    throw badOption(option, shown, 'give a secret of at least 16 characters')
  if (headers.lists.length > 0) return value
  throw badOption(option, shown, "only styles from 'draft-08' on carry it: give `headers` one of those")
}

function statusOf(option: string, value: unknown): number {
  if (value === undefined) return 429
  if (Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599) return value as number
  throw badOption(option, value, 'give an error status, 400 to 599')
}
