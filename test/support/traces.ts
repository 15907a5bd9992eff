import fc from 'fast-check'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { createLimiter, type Decision, type Limiter, type Store } from '../../src/index.js'
import type { LimiterSettings } from '../../src/limiter/options.js'
import { modelOf } from './models.js'
import { decide, type Expected, type Model } from './reference.js'

/** A property's number of runs; FC_RUNS multiplies it. */
export const runs = (numRuns: number) => ({ numRuns: numRuns * Number(process.env.FC_RUNS ?? 1) })

/** A decision's own fields. */
export const plain = (decision: Decision) => ({ ...decision })

export interface ManualLimiter extends Limiter {
  at(now: number): this
}

type Settings = Omit<LimiterSettings, 'now' | 'store'> & { readonly store?: Store | undefined }

/** A limiter on a clock that stands where it was put. */
export function limiterOf(policy: WindowOptions, settings: Settings = {}): ManualLimiter {
  let time = 0
  const limiter = createLimiter({ ...policy, ...settings, now: () => time })
  return Object.assign(limiter, {
    at(now: number) {
      time = now
      return this as never
    }
  })
}

const most = Number.MAX_SAFE_INTEGER
const day = 86_400_000

const windows = fc.oneof(
  fc.integer({ min: 1, max: 9 }),
  fc.integer({ min: 10, max: 5000 }),
  fc.constantFrom(60_000, 86_399_999, 9_007_199, 2 ** 31, 2 ** 31 + 1, 30 * day)
)
const limits = fc.oneof(
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1, max: 200 }),
  fc.constantFrom(997, 999_983, 999_999_937, 2 ** 31 + 1, most)
)
const bounded = (limit: number, window: number) => Math.max(1, Math.min(limit, Math.floor(most / window)))

type PolicyArbitrary = fc.Arbitrary<WindowOptions>

const rate = (strategy: string, extra: object = {}): PolicyArbitrary =>
  fc
    .tuple(limits, windows)
    .map(([limit, window]) => ({ strategy, limit: bounded(limit, window), window, ...extra }))

/** The longest refill: every instant of a trace must be a whole number that a double holds. */
const longest = 2 ** 46

const withBurst = (strategy: string): PolicyArbitrary =>
  fc.tuple(limits, limits, windows).map(([units, places, window]) => {
    const burst = bounded(places, window)
    const limit = Math.max(bounded(units, window), Math.ceil((burst * window) / longest))
    return { strategy, limit, window, burst }
  })

/** Every strategy, with the options that change what it does. */
export const anyPolicy: Readonly<Record<string, PolicyArbitrary>> = {
  'fixed-window': fc.tuple(limits, windows).map(([limit, window]) => ({ limit, window })),
  'fixed-window from the first request': fc
    .tuple(limits, windows)
    .map(([limit, window]) => ({ limit, window, align: 'first-request' as const })),
  'sliding-window': rate('sliding-window'),
  'sliding-log': fc
    .tuple(fc.integer({ min: 1, max: 40 }), windows)
    .map(([limit, window]) => ({ strategy: 'sliding-log', limit, window })),
  'token-bucket': rate('token-bucket'),
  'token-bucket with burst': withBurst('token-bucket'),
  gcra: rate('gcra'),
  'gcra with burst': withBurst('gcra'),
  'leaky-bucket': fc
    .tuple(withBurst('leaky-bucket'), fc.nat(3))
    .map(([policy, delayAfter]) => ({ ...policy, burst: policy.burst! - 1, delayAfter }))
}

/** The same with small numbers, so that keys run out and recover often. */
export const smallPolicy = (name: string): PolicyArbitrary =>
  anyPolicy[name]!.chain((policy) =>
    fc
      .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 60 }))
      .map(([limit, burst, window]) => ({
        ...policy,
        limit,
        window,
        ...(policy.burst === undefined ? {} : { burst })
      }))
  )

export const policyNames = Object.keys(anyPolicy)

export const starts: fc.Arbitrary<number> = fc.constantFrom(0, 1, 1_700_000_000_000, 1_700_000_000_001)

const gaps = [
  'none',
  'one',
  'within',
  'edge',
  'window',
  'windows',
  'wait',
  'reset',
  'none',
  'within'
] as const
const costs = ['one', 'few', 'share', 'all', 'over', 'left', 'more', 'look', 'one', 'few'] as const

export interface Step {
  readonly gap: (typeof gaps)[number]
  readonly cost: (typeof costs)[number]
  /** What the two are drawn with. */
  readonly n: number
  readonly off: number
}

export const anyStep: fc.Arbitrary<Step> = fc.record({
  gap: fc.constantFrom(...gaps),
  cost: fc.constantFrom(...costs),
  n: fc.nat(2 ** 31 - 1),
  off: fc.integer({ min: -1, max: 1 })
})

export const anySteps = fc.array(anyStep, { minLength: 1, maxLength: 25 })

/** How far the clock goes on before a step. */
export function gapOf({ gap, n, off }: Step, now: number, windowMs: number, last: Expected): number {
  const wait = Number.isFinite(last.retryAfterMs) ? last.retryAfterMs : 0
  const far = {
    none: 0,
    one: 1,
    within: n % windowMs,
    edge: windowMs - (now % windowMs) + off,
    window: windowMs + off,
    windows: windowMs * (2 + (n % 4)) + off,
    wait: wait + Math.min(0, off),
    reset: last.resetMs + Math.min(0, off)
  }
  return Math.max(0, far[gap])
}

/** What a step asks for; 0 is a look. */
export function costOf({ cost, n }: Step, last: Expected): number {
  const units = {
    one: 1,
    few: 1 + (n % 3),
    share: 1 + (n % last.limit),
    all: last.limit,
    over: Math.min(most, last.limit + 1 + (n % 2)),
    left: last.remaining || 1,
    more: Math.min(most, last.remaining + 1),
    look: 0
  }
  return units[cost]
}

export interface Asked {
  readonly at: number
  readonly cost: number
  readonly expected: Expected
}

/** Plays a trace on the model alone; what the steps aim at is what the model answered. */
export function play(
  policy: WindowOptions,
  start: number,
  steps: readonly Step[],
  model = modelOf(policy)
): Asked[] {
  let now = start
  let last = decide(model, 0, now)
  return steps.map((step) => {
    now += gapOf(step, now, policy.window as number, last)
    const cost = costOf(step, last)
    last = decide(model, cost, now)
    return { at: now, cost, expected: last }
  })
}

export const ask = (limiter: Limiter, cost: number, key = 'key') =>
  cost === 0 ? limiter.peek(key) : limiter.consume(key, cost)

/** A fresh limiter that has lived through a trace. */
export function replay(policy: WindowOptions, trace: readonly { at: number; cost: number }[]): ManualLimiter {
  const limiter = limiterOf(policy)
  for (const { at, cost } of trace) ask(limiter.at(at), cost)
  return limiter
}

/** True where a model would admit, and then it is charged. */
export function admitInto(model: Model, cost: number, at: number): boolean {
  const admits = model.admits(cost, at)
  if (admits) model.charge(cost, at)
  return admits
}
