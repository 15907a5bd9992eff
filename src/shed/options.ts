import type { Clock } from '../core/clock.js'
import { type Duration, durationMs } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import { badOption, checkNames, type OptionTable, readOptions, type TableOf } from '../core/options.js'
import { flag, wholeNumber } from '../core/readers.js'
import { warnOfShort } from '../core/warn.js'
import { type HealthOptions, type HealthPlan, healthPlan } from './health-options.js'
import { roomsOf } from './in-flight.js'
import { type defaultPriorities, Priorities } from './priorities.js'
import type { Shedding } from './state.js'

/** The priorities that there are unless `priorities` says others. */
export type DefaultPriority = (typeof defaultPriorities)[number]

/** A name as it was given elsewhere: this is no place that TypeScript takes names from. */
type Named<P extends string> = [P][P extends unknown ? 0 : never]

/** Options of `shed`. There must be a reason to shed: `concurrency`, `health`, or both. */
export interface ShedOptions<Req, Res, P extends string = DefaultPriority> {
  /** Names of priorities, highest first. `['critical', 'normal', 'background']` if left out. */
  readonly priorities?: readonly P[] | undefined
  /**
   * The priority of a request. Where it returns nothing, and without it, the request is of the `defaultPriority`. A name that
   * there is not counts as the lowest. What it throws goes to the framework's handler of errors.
   */
  readonly priority?: ((request: Req) => Named<P> | undefined) | undefined
  /** Of requests that say nothing. `'normal'`; of other `priorities`, the one in the middle. */
  readonly defaultPriority?: Named<P> | undefined
  /** Whether the highest priority, too, is shed for `health` when all others are shed whole. False if left out. */
  readonly shedHighest?: boolean | undefined
  /** Requests in flight in this process, at most. */
  readonly concurrency?: number | undefined
  /** What part of `concurrency` is kept for each priority but the lowest, 0 to 1 and together below 1. */
  readonly reserve?: { readonly [Name in Named<P>]?: number | undefined } | undefined
  /** Thresholds from which on requests are shed for the health of this worker. */
  readonly health?: HealthOptions | undefined
  /** Returns true for requests that are never shed. They count as in flight. */
  readonly skip?: ((request: Req) => boolean) | undefined
  /** Paths that are never shed, such as `['/healthz']`: whole ones, without a query. They count as in flight. */
  readonly healthPaths?: readonly string[] | undefined
  /** What `Retry-After` says; 10 s if left out. */
  readonly retryAfter?: Duration | undefined
  /** Replaces the sentence in the body. */
  readonly message?: string | ((request: Req, shedding: Shedding<P>) => string) | undefined
  /**
   * Answers a request that is shed, in place of the default body; status and fields are already set. What it returns is
   * sent, unless it has sent something itself; an error goes to the framework's handler of errors; if it returns nothing, the default body is sent.
   */
  readonly onShed?: ((request: Req, response: Res, shedding: Shedding<P>) => unknown) | undefined
  /** Decide, but shed nobody; a function is called for each request that would have been shed. */
  readonly shadow?: boolean | ((request: Req, shedding: Shedding<P>) => void) | undefined
  /** A clock in ms that tests move. */
  readonly now?: Clock | undefined
}

type AnyFunction = (...args: never[]) => unknown

/** How those are read. `Priorities` reads what belongs to the names of priorities. */
export const shedOptions = {
  priorities: {},
  priority: { read: functionOrNull },
  defaultPriority: {},
  shedHighest: { read: flag },
  concurrency: { read: concurrencyOf },
  reserve: {},
  health: { read: healthPlan },
  skip: { read: functionOrNull },
  healthPaths: { read: pathsOf },
  retryAfter: { read: retryAfterOf },
  message: { read: messageOf },
  onShed: { read: functionOrNull },
  shadow: {
    read: (option: string, value: unknown) =>
      typeof value === 'function' ? (value as AnyFunction) : flag(option, value)
  },
  now: { read: clockOf }
} as const satisfies OptionTable & TableOf<ShedOptions<never, never>>

/** Options, validated and compiled once. */
export interface ShedPlan<Req, Res> {
  readonly priorities: Priorities
  readonly priority: ((request: Req) => unknown) | null
  readonly shedsHighest: boolean
  /** By rank, how many requests of it and of those below it may be in flight. */
  readonly rooms: readonly number[]
  readonly health: HealthPlan | null
  readonly skip: ((request: Req) => unknown) | null
  readonly healthPaths: readonly string[]
  readonly retryAfterMs: number
  readonly message: string | ((request: Req, shedding: Shedding) => unknown) | null
  readonly onShed: OnShed<Req, Res> | null
  readonly isShadow: boolean
  readonly onShadow: ((request: Req, shedding: Shedding) => unknown) | null
  readonly now: Clock
}

/** Answers a request that is shed. */
export type OnShed<Req, Res> = (request: Req, response: Res, shedding: Shedding) => unknown

/**
 * Compiles the options of a shedder; `more` are those that its adapter has besides.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function shedPlan<Req, Res>(options: unknown, more: OptionTable = {}): ShedPlan<Req, Res> {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw badOption('options', options, 'give an object, such as { concurrency: 200 }')
  checkNames(options, { ...shedOptions, ...more }, '`shed`')
  const read = readOptions(shedOptions, options)
  const { priorities: names, defaultPriority, reserve } = options as ShedOptions<Req, Res, string>
  if (read.concurrency === undefined && read.health === null)
    throw new HeadgateError(
      'HEADGATE_BAD_OPTION',
      "`shed` has no reason to shed anything: give `concurrency`, the requests that may be in flight, or `health`, such as { eventLoopDelay: '100ms' }"
    )
  const priorities = new Priorities(names, defaultPriority)
  const { shadow } = read
  return {
    priorities,
    priority: read.priority as ShedPlan<Req, Res>['priority'],
    // Of a single priority, all of it may be shed: otherwise nothing could be.
    shedsHighest: read.shedHighest || priorities.names.length === 1,
    rooms: readRooms(priorities, read.concurrency, reserve),
    health: read.health,
    skip: read.skip as ShedPlan<Req, Res>['skip'],
    healthPaths: read.healthPaths,
    retryAfterMs: read.retryAfter,
    message: read.message as ShedPlan<Req, Res>['message'],
    onShed: read.onShed as OnShed<Req, Res> | null,
    isShadow: shadow !== false,
    onShadow: typeof shadow === 'function' ? (shadow as ShedPlan<Req, Res>['onShadow']) : null,
    now: read.now
  }
}

function readRooms(
  priorities: Priorities,
  concurrency: number | undefined,
  reserve: unknown
): readonly number[] {
  const reserves = priorities.names.map(() => 0)
  if (reserve !== undefined) {
    if (concurrency === undefined)
      throw badOption('reserve', reserve, 'it is a part of `concurrency`: give that too')
    if (typeof reserve !== 'object' || reserve === null || Array.isArray(reserve))
      throw badOption('reserve', reserve, 'give the part of each priority, such as { critical: 0.2 }')
    for (const [name, part] of Object.entries(reserve))
      if (part !== undefined) reserves[priorities.rankIn('reserve', name)] = partOf(`reserve.${name}`, part)
    refuseIdle(priorities, reserves)
  }
  const sum = reserves.reduce((all, part) => all + part, 0)
  if (sum > 1 + 1e-9)
    throw badOption('reserve', sum, 'together the parts must be at most 1, the whole `concurrency`')
  const rooms = roomsOf({ concurrency: concurrency ?? Number.POSITIVE_INFINITY, reserves })
  const without = rooms.findIndex((room) => room < 1)
  if (without >= 0)
    throw badOption(
      'reserve',
      reserve,
      `it leaves no request for '${priorities.names[without]}', which would always be shed: reserve less, or raise \`concurrency\``
    )
  return rooms
}

/** Nobody is below the lowest priority: there is nobody to keep anything from. */
function refuseIdle({ names, lowest }: Priorities, reserves: readonly number[]): void {
  if (reserves[lowest] === 0) return
  throw badOption(
    `reserve.${names[lowest]}`,
    reserves[lowest],
    'it is the lowest priority, for which nothing can be kept from others: leave it out, and reserve for those above it'
  )
}

function partOf(option: string, part: unknown): number {
  if (typeof part === 'number' && part >= 0 && part <= 1) return part
  throw badOption(option, part, 'give a part of `concurrency`, 0 to 1, such as 0.2')
}

function functionOrNull(option: string, value: unknown): AnyFunction | null {
  if (value === undefined) return null
  if (typeof value === 'function') return value as AnyFunction
  throw badOption(option, value, 'give a function')
}

function concurrencyOf(option: string, value: unknown): number | undefined {
  return value === undefined ? undefined : wholeNumber(option, value, 1)
}

function pathsOf(option: string, value: unknown): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw badOption(option, value, "give a list of paths, such as ['/healthz']")
  for (const path of value)
    if (typeof path !== 'string' || !/^\/[^?#]*$/.test(path))
      throw badOption(option, path, "give whole paths without a query, such as '/healthz'")
  return [...value]
}

function retryAfterOf(option: string, value: unknown): number {
  if (value === undefined) return 10_000
  const wait = durationMs(option, value)
  warnOfShort(option, value)
  return wait
}

function messageOf(option: string, value: unknown): string | AnyFunction | null {
  if (value === undefined) return null
  if (typeof value === 'string' || typeof value === 'function') return value as string | AnyFunction
  throw badOption(option, value, 'give a text or a function; for a body of your own, return it from `onShed`')
}

function clockOf(option: string, value: unknown): Clock {
  if (value === undefined) return () => performance.now()
  if (typeof value === 'function') return value as Clock
  throw badOption(option, value, 'give a function that returns milliseconds')
}
