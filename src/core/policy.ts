import { type Duration, durationMs, durationText } from './duration.js'
import { HeadgateError } from './errors.js'
import { divideUp } from './exact.js'
import { badOption, checkNames } from './options.js'
import { strategyOf } from './registry.js'
import { closed, open } from './strategies/constant.js'
import type { Rule, RuleOption, Strategy } from './strategy.js'

/** The names of the built-in strategies; names given to `defineStrategy` count as well. */
export type StrategyName =
  | 'fixed-window'
  | 'sliding-window'
  | 'sliding-log'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket'
  | (string & {})

/** The options of one policy, as they are written. */
export interface PolicyOptions {
  /** What headers and problem details call it: printable ASCII. `default` if left out. */
  readonly name?: string | undefined
  /** Units per window, a positive whole number. */
  readonly limit: number
  /** Length of the window: ms, or a text such as `'1m'`. */
  readonly window: Duration
  /** An algorithm by name or as an object; `'fixed-window'` if left out. */
  readonly strategy?: StrategyName | Strategy | undefined
  /** Capacity of a token bucket or gcra (`limit` if left out); waiting places of a leaky bucket (0 if left out). */
  readonly burst?: number | undefined
  /** Whether fixed windows follow the clock (the default) or begin at a key's first admitted request. */
  readonly align?: 'clock' | 'first-request' | undefined
  /** How many waiting places of a leaky bucket are not held back; 0 if left out. */
  readonly delayAfter?: number | undefined
}

/** One validated, frozen rule: a "quota policy" of draft-ietf-httpapi-ratelimit-headers. */
export interface Policy extends Rule {
  readonly name: string
  readonly strategy: Strategy
  /** How many numbers a key needs under it. */
  readonly slots: number
  /**
   * The window, in ms, within which `capacity` units come back: what headers state beside the capacity, so that
   * a burst never overstates the rate.
   */
  readonly quotaWindowMs: number
  /** True where its strategy holds requests back. */
  readonly shapes: boolean
}

/** The names of the options of one policy. */
export const policyOptionNames = [
  'name',
  'limit',
  'window',
  'strategy',
  'burst',
  'align',
  'delayAfter'
] as const

/**
 * Validates the options of one policy and freezes them.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function definePolicy(options: PolicyOptions, where = 'a policy'): Policy {
  checkNames(options, policyOptionNames, where)
  const strategy = strategyOf(options.strategy ?? 'fixed-window')
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = durationMs('window', options.window)
  const extras: { burst?: number; align?: 'clock' | 'first-request'; delayAfter?: number } = {}
  if (options.burst !== undefined) extras.burst = wholeNumber('burst', options.burst, leastBurst(strategy))
  if (options.align !== undefined) extras.align = alignment(options.align)
  if (options.delayAfter !== undefined) extras.delayAfter = wholeNumber('delayAfter', options.delayAfter, 0)
  for (const extra of Object.keys(extras) as RuleOption[])
    if (!strategy.accepts?.includes(extra))
      throw badOption(extra, extras[extra], `strategy '${strategy.name}' has no meaning for it; leave it out`)
  const name = checkPolicyName(options.name ?? 'default')
  return complete({ name, strategy, limit, windowMs, ...extras })
}

/**
 * The same policy with another limit, for limits that are computed for a request: 0 denies whatever the cost,
 * `Infinity` admits.
 * @throws HeadgateError `HEADGATE_BAD_LIMIT` for anything but these and positive whole numbers
 */
export function withLimit(policy: Policy, limit: unknown): Policy {
  if (limit === 0) return complete({ ...policy, limit, strategy: closed })
  if (limit === Number.POSITIVE_INFINITY) return complete({ ...policy, limit, strategy: open })
  if (!Number.isSafeInteger(limit) || (limit as number) < 0)
    throw new HeadgateError(
      'HEADGATE_BAD_LIMIT',
      `The limit function of policy '${policy.name}' returned ${String(limit)}: return a positive whole number, 0 to deny, or Infinity for no limit.`
    )
  try {
    return complete({ ...policy, limit: limit as number })
  } catch (error) {
    throw new HeadgateError('HEADGATE_BAD_LIMIT', `A limit function: ${(error as Error).message}`)
  }
}

/**
 * The same policy with a part of its limit and burst, rounded down, but at least 1: for one of several processes that
 * hold a limit together. 0 and `Infinity` stay what they are.
 */
export function withShare(policy: Policy, share: number): Policy {
  const { limit, burst, strategy } = policy
  if (share === 1 || strategy === closed || strategy === open) return policy
  const least = leastBurst(strategy)
  const part = (units: number, atLeast: number) => Math.max(atLeast, Math.floor(units * share))
  return complete({
    ...policy,
    limit: part(limit, 1),
    ...(burst === undefined ? {} : { burst: part(burst + 1 - least, 1) - 1 + least })
  })
}

/** All policies are objects of one shape, whatever they leave out: else each that differs would slow all of them down. */
function complete(rule: Omit<Policy, 'capacity' | 'slots' | 'quotaWindowMs' | 'shapes'>): Policy {
  const { name, strategy, limit, windowMs, burst, align, delayAfter } = rule
  const capacity = strategy.capacity?.(rule) ?? limit
  strategy.validate?.({ ...rule, capacity })
  const quotaWindowMs = capacity === limit ? windowMs : divideUp(capacity * windowMs, limit)
  const slots = wholeNumber(`slots of strategy '${strategy.name}'`, strategy.slots({ ...rule, capacity }), 0)
  const shapes = strategy.shapes === true
  const own = {
    name,
    strategy,
    limit,
    windowMs,
    capacity,
    quotaWindowMs,
    slots,
    shapes,
    burst,
    align,
    delayAfter
  }
  return Object.freeze(own) as Policy
}

/** Names for tiers that were given none: what they allow, `10-per-1s`. */
export function tierName(limit: number, window: Duration): string {
  return `${limit}-per-${durationText(durationMs('window', window))}`
}

/**
 * A policy name as the headers can carry it: draft-ietf-httpapi-ratelimit-headers-11 §3, RFC 9651 §3.3.3.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function checkPolicyName(name: unknown): string {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,1024}$/.test(name)) return name
  throw badOption('name', name, 'a policy name is 1 to 1024 characters of printable ASCII')
}

/** @throws HeadgateError `HEADGATE_POLICY_CLASH` where two names differ at most by case */
export function checkUnique(policies: readonly { readonly name: string }[]): void {
  const seen = new Set<string>()
  for (const { name } of policies) {
    if (seen.has(name.toLowerCase()))
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `Two limits of one limiter are named '${name}': give each its own \`name\` (upper and lower case count as equal).`
      )
    seen.add(name.toLowerCase())
  }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but a whole number of at least `least` */
export function wholeNumber(option: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw badOption(option, value, fixFor(option, value, least))
}

function fixFor(option: string, value: unknown, least: number): string {
  if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)))
    return `write it as a number, ${Number(value)}, not as a text`
  if (option === 'limit' && value === 0)
    return 'to deny everybody return 0 from a limit function; to switch the limiter off leave it out, or use `skip`'
  if (value === Number.POSITIVE_INFINITY)
    return 'a limiter without a limit protects nothing; leave it out, or use `skip`'
  return `give a whole number of at least ${least}`
}

function leastBurst(strategy: Strategy): number {
  return strategy.shapes ? 0 : 1
}

function alignment(value: unknown): 'clock' | 'first-request' {
  if (value === 'clock' || value === 'first-request') return value
  throw badOption('align', value, "give 'clock' or 'first-request'")
}

/** All that decides how a policy counts, whatever it is named: the same in every thread and process. */
export function ruleOf({
  strategy,
  limit,
  windowMs,
  capacity,
  align,
  delayAfter
}: Policy): readonly unknown[] {
  return [strategy.name, limit, windowMs, capacity, align ?? 'clock', delayAfter ?? 0]
}

/** Rules as error messages tell them apart. */
export function shownRules(policies: readonly Policy[]): string {
  return policies.map(({ limit, windowMs }) => `${limit} in ${windowMs} ms`).join(', ')
}
