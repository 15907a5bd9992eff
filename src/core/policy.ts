import type { Adaptive } from './adaptive/read-adaptive.js'
import type { Calendar } from './calendar/calendar.js'
import { readCalendar } from './calendar/calendar-options.js'
import { type Delay, delayPart } from './delay.js'
import { HeadgateError } from './errors.js'
import { divideUp } from './exact.js'
import { badOption, checkNames, shown } from './options.js'
import {
  type ConcurrencyOptions,
  kindsIn,
  type PolicyOptions,
  partOf,
  policyOptions,
  readStrategyOptions,
  strategyOptionNames,
  strategyOptions,
  type WindowOptions
} from './policy-options.js'
import { wholeNumber } from './readers.js'
import { isBuiltIn } from './registry.js'
import { calendarWindow } from './strategies/calendar-window.js'
import { closed, open } from './strategies/constant.js'
import { endlessLimit, endlessOf, limitedOf } from './strategies/endless.js'
import { inFlight } from './strategies/in-flight.js'
import type { Rule, Strategy } from './strategy.js'
import { probe } from './strategy-probe.js'

/** One validated, frozen rule: a "quota policy" of draft-ietf-httpapi-ratelimit-headers. */
export interface Policy extends Rule {
  readonly name: string
  readonly strategy: Strategy
  /** How many slots each key needs under it. */
  readonly slots: number
  /**
   * The window, in ms, within which `capacity` units come back: what headers state beside the capacity, so that
   * a burst never overstates the rate. `null` for what is in flight, which no window gives back.
   */
  readonly quotaWindowMs: number | null
  /** True where its strategy holds requests back. */
  readonly shapes: boolean
  /** What it counts, by the registry of draft-ietf-httpapi-ratelimit-headers-11 §3.1.2. */
  readonly unit: 'requests' | 'concurrent-requests'
  /** How many requests of a key may wait for a permit, and for how long, ms; both 0 where nobody waits. */
  readonly queue: number
  readonly maxWaitMs: number
  /** How its limit finds itself, with `limit` as the most; null where it is fixed. */
  readonly adaptive: Adaptive | null
  /** How requests are slowed down; null where they are not. */
  readonly delay: Delay | null
  /** True where `limit` is `Infinity` beside `delay`: the number that stands there only says how far it counts. */
  readonly isEndless: boolean
  /** Whose windows it counts in; null where they are of one length. */
  readonly calendar: Calendar | null
}

/**
 * Validates the options of one policy and freezes them. A strategy of the user is tried on them.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function definePolicy(options: PolicyOptions, where = 'a policy'): Policy {
  checkNames(options, policyOptions, where)
  checkOneKind(options)
  const name = policyOptions.name.read('name', options.name)
  return options.concurrency === undefined
    ? defineWindow(options as WindowOptions, name)
    : defineConcurrency(options, name)
}

/** Refuses a policy that would count both in a window and in flight. */
function checkOneKind(options: PolicyOptions): void {
  const { window, inFlight } = kindsIn(options)
  const [option] = inFlight
  if (option === undefined) return
  const value = options[option as keyof PolicyOptions]
  if (options.concurrency === undefined)
    throw badOption(
      option,
      value,
      'it says who waits for a permit of `concurrency`: give that too, or leave it out'
    )
  if (window.length > 0)
    throw badOption(
      option,
      value,
      `a policy counts in a window or in flight, and this one has \`${window[0]}\` too: write both into \`limits: [{ limit, window }, { concurrency }]\``
    )
}

function defineConcurrency(options: ConcurrencyOptions, name: string): Policy {
  const read = policyOptions.concurrency.read('concurrency', options.concurrency)
  const adaptive = typeof read === 'number' ? null : read
  const limit = typeof read === 'number' ? read : read.rule.max
  const queue = policyOptions.queue.read('queue', options.queue)
  const maxWaitMs = policyOptions.maxWait.read('maxWait', options.maxWait)
  if (queue === 0 && options.maxWait !== undefined)
    throw badOption('maxWait', options.maxWait, 'without a `queue` nobody waits: give both, or leave it out')
  const waiting = { queue, maxWaitMs: queue === 0 ? 0 : maxWaitMs }
  const unit = 'concurrent-requests'
  return complete({
    ...{ name, strategy: inFlight, limit, windowMs: 0, unit, adaptive, ...waiting },
    ...{ ...notSlowed, calendar: null }
  })
}

const notSlowed = { delay: null, isEndless: false } as const
const inWindow = { unit: 'requests', queue: 0, maxWaitMs: 0, adaptive: null } as const

function defineWindow(options: WindowOptions, name: string): Policy {
  const asked = policyOptions.strategy.read('strategy', options.strategy)
  const delay = delayOf(options, asked)
  const isEndless = delay !== null && options.limit === Number.POSITIVE_INFINITY
  const limit = isEndless ? 1 : policyOptions.limit.read('limit', options.limit)
  const windowMs = policyOptions.window.read('window', options.window)
  const own = readStrategyOptions(options, asked)
  const calendar = readCalendar(options, asked)
  const strategy = calendar === null ? asked : calendarWindow
  const how = { ...inWindow, calendar, delay, isEndless: false }
  const policy = complete({ name, strategy, limit, windowMs, ...how, ...own })
  if (isEndless) return endless(policy)
  if (!isBuiltIn(strategy)) probe(policy)
  return policy
}

/** @throws HeadgateError where `delay` is none, or its strategy holds requests back already */
function delayOf({ delay }: WindowOptions, strategy: Strategy): Delay | null {
  const read = policyOptions.delay.read('delay', delay)
  if (read !== null && strategy.shapes)
    throw badOption(
      'delay',
      delay,
      `strategy '${strategy.name}' holds requests back by itself; take 'fixed-window' or 'sliding-window', or leave it out`
    )
  return read
}

/** The same policy without a limit, which counts for its delay. */
function endless(policy: Policy): Policy {
  const strategy = endlessOf(policy.strategy)
  if (strategy === undefined)
    throw badOption(
      'limit',
      Number.POSITIVE_INFINITY,
      `strategy '${policy.strategy.name}' cannot count without a limit; take 'fixed-window' or 'sliding-window'`
    )
  return complete({ ...policy, strategy, limit: endlessLimit(policy.windowMs), isEndless: true })
}

/**
 * The same policy with another limit, and perhaps another burst, for those that are computed for a request: a limit of 0
 * denies whatever the cost, `Infinity` admits.
 * @throws HeadgateError `HEADGATE_BAD_LIMIT` for anything but these and positive whole numbers
 */
export function withLimit(policy: Policy, limit: unknown, burst: unknown = policy.burst): Policy {
  if (limit === 0) return complete({ ...policy, limit, strategy: closed, isEndless: false })
  if (limit === Number.POSITIVE_INFINITY && policy.delay === null)
    return complete({ ...policy, limit, strategy: open })
  const isEndless = limit === Number.POSITIVE_INFINITY
  if (!isEndless && (!Number.isSafeInteger(limit) || (limit as number) < 0))
    throw new HeadgateError(
      'HEADGATE_BAD_LIMIT',
      `The ${policy.unit === 'requests' ? 'limit' : 'concurrency'} function of policy '${policy.name}' returned ${shown(limit)}: return a positive whole number${typeof limit === 'string' ? ', not a text' : ''}, 0 to deny, or Infinity for no limit.`
    )
  try {
    if (isEndless) return endless(policy)
    const strategy = limitedOf(policy.strategy)
    const read = burst === policy.burst ? policy.burst : strategyOptions.burst.read('burst', burst, strategy)
    return tried(complete({ ...policy, strategy, limit: limit as number, burst: read, isEndless: false }))
  } catch (error) {
    if (error instanceof HeadgateError && error.code === 'HEADGATE_BAD_STRATEGY') throw error
    throw new HeadgateError(
      'HEADGATE_BAD_LIMIT',
      `A ${burst === policy.burst ? 'limit' : 'limit or burst'} function: ${(error as Error).message}`
    )
  }
}

/** Strategies of the user that were tried under a computed limit. */
const triedStrategies = new WeakSet<Strategy>()

/** A policy with a computed limit: what its strategy did under the limit of 1 that stood for it says little. */
function tried(policy: Policy): Policy {
  const { strategy, limit } = policy
  if (limit === 1 || isBuiltIn(strategy) || strategy === inFlight || triedStrategies.has(strategy))
    return policy
  probe(policy)
  triedStrategies.add(strategy)
  return policy
}

/**
 * The same policy with a part of its limit and burst, rounded down, but at least 1: for one of several processes that
 * hold a limit together. 0 and `Infinity` stay what they are.
 */
export function withShare(policy: Policy, share: number): Policy {
  const { limit, strategy } = policy
  if (share === 1 || strategy === closed || strategy === open) return policy
  const parts: Record<string, unknown> = {}
  for (const name of strategyOptionNames) {
    const { part } = strategyOptions[name]
    if (part !== undefined && policy[name] !== undefined)
      parts[name] = part(policy[name] as never, share, strategy)
  }
  const delay = policy.delay === null ? null : delayPart(policy.delay, share)
  return complete({ ...policy, limit: partOf(limit, share), delay, ...parts })
}

/** All policies are objects of one shape, whatever they leave out: else each that differs would slow all of them down. */
function complete(rule: Omit<Policy, 'capacity' | 'slots' | 'quotaWindowMs' | 'shapes'>): Policy {
  const { name, strategy, limit, windowMs, unit, queue, maxWaitMs, adaptive, delay, isEndless, calendar } =
    rule
  const capacity = strategy.capacity?.(rule) ?? limit
  strategy.validate?.({ ...rule, capacity })
  const quotaWindowMs = quotaWindowOf(rule, capacity)
  const asked = strategy.slots({ ...rule, capacity })
  if (asked > mostSlots) throw tooLarge({ ...rule, capacity }, strategy, asked)
  const slots = wholeNumber(`slots of strategy '${strategy.name}'`, asked, 0)
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
    unit,
    queue,
    maxWaitMs,
    adaptive,
    delay,
    isEndless,
    calendar
  }
  const all: Record<string, unknown> = own
  for (const option of strategyOptionNames) all[option] = rule[option]
  return Object.freeze(own)
}

/** A policy of headgate's own making, whose strategy its tests hold to the contract. */
export function countingPolicy(rule: Pick<Policy, 'name' | 'strategy' | 'limit' | 'windowMs'>): Policy {
  return complete({ ...rule, ...inWindow, delay: null, isEndless: false, calendar: null })
}

function quotaWindowOf(
  { limit, windowMs, unit }: Pick<Policy, 'limit' | 'windowMs' | 'unit'>,
  capacity: number
) {
  if (unit === 'concurrent-requests') return null
  return capacity === limit ? windowMs : divideUp(capacity * windowMs, limit)
}

/** The most numbers that a key may have: 128 MiB, which a store can still have in one piece. */
const mostSlots = 2 ** 24

function tooLarge(rule: Rule, strategy: Strategy, slots: number): HeadgateError {
  const { name } = strategy
  if (strategy.slots({ ...rule, limit: 1, capacity: 1 }) >= slots)
    return badOption(`slots of strategy '${name}'`, slots, `a key may have at most ${mostSlots} numbers`)
  return badOption(
    'limit',
    rule.limit,
    `strategy '${name}' keeps ${slots} numbers for each key under it, and may have ${mostSlots}: take 'sliding-window' or 'gcra', whose keys are a few numbers, or a smaller limit`
  )
}

/**
 * All that decides how a policy counts, whatever it is named: the same in every thread and process. The slots tell apart
 * versions of one strategy that keep something else in them.
 */
export function ruleOf(policy: Policy): readonly unknown[] {
  const { strategy, limit, windowMs, capacity, slots, adaptive, calendar } = policy
  const told = strategyOptionNames.filter((name) => strategyOptions[name].unset !== undefined)
  const own = told.map((name) => policy[name] ?? strategyOptions[name].unset)
  const found =
    adaptive === null ? [] : [adaptive.algorithm.name, ...Object.values({ ...adaptive.rule, seed: 0 })]
  return [strategy.name, limit, windowMs, capacity, slots, ...own, ...found, ...(calendar?.rule ?? [])]
}

/*
 * A first one whose numbers are none, so that V8 takes them for values of any kind, as those of decisions are taken (see
 * decision.ts). Otherwise the first limit of `Infinity` would have each decision box a number of its own
 * (bench/allocation.js).
 */
complete({ name: '', strategy: open, limit: null, windowMs: null, ...inWindow, ...notSlowed } as never)

/** A policy that admits everything and counts nothing. */
export const unlimited: Policy = withLimit(definePolicy({ limit: 1, window: 1000 }), Number.POSITIVE_INFINITY)
