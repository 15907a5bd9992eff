import fc from 'fast-check'
import type { BuiltLimiter } from '../../src/core/limiter-options.js'
import type { Decision } from '../../src/index.js'
import { anyStep, costOf, gapOf, plain, type Step } from '../support/traces.js'
import { askFor, type Told, takeUnder, told } from './clocked-store.js'

/** What can be done to a key, as often as it is to be drawn. */
const kinds = [
  ...Array<'ask'>(8).fill('ask'),
  'refund',
  'late refund',
  'late refund',
  'spend',
  'block',
  'penalty',
  'reward',
  'reset'
] as const

/** The lowest limit that is computed. */
const lowest = 1
const computed = [undefined, undefined, 0, lowest, 2, 3, 5, 8, 13, Number.POSITIVE_INFINITY]

/** One thing that is done to a limiter, drawn before it is known how the limiter stands. */
export interface Draw {
  readonly kind: (typeof kinds)[number] | 'vary'
  readonly step: Step
  readonly key: string
  /** The limits that a request is decided under, a tier each. */
  readonly limits: readonly (number | undefined)[]
  /** How many ms the clock steps back before it. */
  readonly backMs: number
}

export interface DrawOptions {
  /** Decide some requests under limits that were computed for them. */
  readonly varies: boolean
  /** Let the clock step back now and then. */
  readonly stepsBack: boolean
}

export const anyDraws = ({ varies, stepsBack }: DrawOptions): fc.Arbitrary<Draw[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom<Draw['kind']>(...kinds, ...(varies ? Array<'vary'>(6).fill('vary') : [])),
      step: anyStep,
      key: fc.constantFrom('key', 'key', 'other'),
      limits: varies
        ? fc.array(fc.constantFrom(...computed), { minLength: 3, maxLength: 3 })
        : fc.constant([]),
      backMs: stepsBack
        ? fc.oneof(fc.constant(0), fc.constant(0), fc.nat(60), fc.nat(10_000))
        : fc.constant(0)
    }),
    { minLength: 1, maxLength: 25 }
  )

/** One thing that is done, with all its numbers. */
export type Deed = { readonly key: string } & (
  | { readonly kind: 'ask' | 'spend' | 'penalty' | 'reward'; readonly cost: number }
  | { readonly kind: 'vary'; readonly cost: number; readonly limits: Draw['limits'] }
  | { readonly kind: 'refund'; readonly cost: number; readonly chargedAt: number | undefined }
  | { readonly kind: 'block'; readonly blockMs: number }
  | { readonly kind: 'reset' }
)

/**
 * Lets a limiter know the lowest limit before anything else: what is spent under all limits that were seen may be
 * forgotten, and each store does so at a time of its own.
 */
export async function showLowest(limiter: BuiltLimiter): Promise<void> {
  await takeUnder(
    limiter,
    limiter.policies.map(() => lowest),
    'nobody',
    1
  )
}

/** How a trace stands: what its next draw aims at. */
export class Standing {
  now: number
  #last: Decision
  readonly #charges: number[]

  /** @param last what a fresh limiter answers to a look */
  constructor(start: number, last: Decision) {
    this.now = start
    this.#last = last
    this.#charges = [start]
  }

  /** Moves the clock on, and settles what is to be done. */
  next(draw: Draw, windowMs: number): Deed {
    const { step, key, kind, limits } = draw
    const gap = gapOf(step, this.now, windowMs, this.#last)
    this.now = Math.max(0, this.now + (Number.isFinite(gap) ? gap : 0) - draw.backMs)
    const cost = costOf(step, this.#last)
    switch (kind) {
      case 'refund':
        return { kind, key, cost: cost || 1, chargedAt: undefined }
      case 'late refund':
        return { kind: 'refund', key, cost: cost || 1, chargedAt: this.#chargedAt(step) }
      case 'block':
        return { kind, key, blockMs: step.n % 8 === 0 ? Number.POSITIVE_INFINITY : 1 + (step.n % 100) }
      case 'reset':
        return { kind, key }
      case 'penalty':
        return { kind, key, cost: Math.min(Number.MAX_SAFE_INTEGER, cost * (1 + (step.n % 3))) }
      case 'reward':
        return { kind, key, cost }
      case 'vary':
        return { kind, key, cost: cost || 1, limits }
      default:
        return { kind, key, cost: kind === 'spend' ? cost || 1 : cost }
    }
  }

  /** Learns what the limiter answered. */
  see(decision: Decision): void {
    if (decision.limit > 0 && Number.isFinite(decision.limit)) this.#last = decision
    if (decision.allowed) this.#charges.push(this.now)
  }

  /** An instant at or beside which something may have been charged. */
  #chargedAt({ n, off }: Step): number {
    return this.#charges[n % this.#charges.length]! + off
  }
}

/** Does it; what a refund, a block or a reset has led to is looked at. */
export async function perform(
  limiter: BuiltLimiter,
  deed: Deed
): Promise<Partial<Told> & { decision: Decision }> {
  const { key } = deed
  switch (deed.kind) {
    case 'ask':
      return { decision: await askFor(limiter, deed.cost, key) }
    case 'vary':
      return takeUnder(limiter, deed.limits.slice(0, limiter.policies.length), key, deed.cost)
    case 'spend':
      return told(await limiter.charge(key, deed.cost, limiter.policies), false)
    case 'refund':
      await limiter.refund(key, deed.cost, deed.chargedAt)
      break
    case 'block':
      await limiter.block(key, deed.blockMs)
      break
    case 'penalty':
      return { decision: await limiter.penalty(key, deed.cost) }
    case 'reward':
      return { decision: await limiter.reward(key, deed.cost) }
    case 'reset':
      await limiter.reset(key)
  }
  return { decision: await limiter.peek(key) }
}

/** All that an answer says, to compare it with another. */
export const said = ({ decision, ...rest }: { decision: Decision }) => ({
  ...rest,
  ...plain(decision),
  policy: decision.policy.name,
  source: decision.source,
  tiers: decision.tiers.map(plain)
})
