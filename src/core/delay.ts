import { type Duration, durationMs } from './duration.js'
import { badOption, checkNames, shown } from './options.js'
import { wholeNumber } from './readers.js'
import { Out, outSize, type Verdict } from './verdict.js'

/** How requests are slowed down, as it is written. */
export interface DelayOptions {
  /** Units of the window that are not held; what is beyond them is. 1 if left out. */
  readonly after?: number | undefined
  /** How much longer each further unit is held: ms, or a text such as `'500ms'`. */
  readonly step: Duration
  /** The longest that a request is held. 1 minute if left out, or `step` where that is more. */
  readonly max?: Duration | undefined
  /** How many requests of all keys an HTTP limiter holds at once. 1000 if left out. */
  readonly places?: number | undefined
}

/** How requests are slowed down. */
export interface Delay {
  readonly after: number
  readonly stepMs: number
  readonly maxMs: number
  readonly places: number
}

const parts = ['after', 'step', 'max', 'places']

const usual = { after: 1, maxMs: 60_000, places: 1000 } as const

/** The longest that a timer of Node can wait, ms. */
const longestMs = 2 ** 31 - 1

/** @throws HeadgateError that names the option, the value and the fix */
export function readDelay(option: string, value: unknown): Delay | null {
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(
      option,
      value,
      "give { after: 5, step: '500ms', max: '20s' }; places of a leaky bucket that are not held are `delayAfter`"
    )
  checkNames(value, parts, `\`${option}\``)
  const { after = usual.after, step, max, places = usual.places } = value as DelayOptions
  if (step === undefined)
    throw badOption(`${option}.step`, step, "say how much longer each unit is held, such as '500ms'")
  const stepMs = held(`${option}.step`, step)
  return {
    after: wholeNumber(`${option}.after`, after, 0),
    stepMs,
    maxMs: max === undefined ? Math.max(usual.maxMs, stepMs) : held(`${option}.max`, max),
    places: wholeNumber(`${option}.places`, places, 1)
  }
}

function held(option: string, value: unknown): number {
  const ms = durationMs(option, value)
  if (ms <= longestMs) return ms
  throw badOption(option, value, 'nobody is held for longer than 24 days; give less')
}

/** A rule that may slow requests down. */
interface Slowing {
  readonly capacity: number
  readonly delay: Delay | null
}

/**
 * How long a request is held after whose decision so much remains: the units used in the window beyond `after`, times the
 * step. 0 where nobody has counted.
 */
export function delayFor(capacity: number, { after, stepMs, maxMs }: Delay, remaining: number): number {
  const over = capacity - remaining - after
  return over > 0 ? Math.min(maxMs, over * stepMs) : 0
}

/**
 * For one of several processes that divide a limit among them: it sees its part of the requests, and so each of them
 * stands for more.
 */
export function delayPart(delay: Delay, share: number): Delay {
  const { after, stepMs } = delay
  return {
    ...delay,
    after: after === 0 ? 0 : Math.max(1, Math.floor(after * share)),
    stepMs: Math.max(1, Math.round(stepMs / share))
  }
}

/**
 * Refuses a delay that no request would ever come to: `limit` denies before.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function checkDelays(policies: readonly Slowing[]): void {
  for (const { capacity, delay } of policies)
    if (delay !== null && delay.after >= capacity)
      throw badOption(
        'delay.after',
        delay.after,
        `the limit denies what is over ${shown(capacity)}, so nothing would be held; give less, or a higher limit`
      )
}

/** The verdict on a request that was admitted, is to be held, and finds no place for that: it is given back. */
export function crowdedOut(verdict: Verdict, waitMs: number): Verdict {
  const { policies, receipts } = verdict
  // Of several limiters nobody says here how much each has charged: what is left is told a little too low.
  const charged = receipts === undefined ? verdict.charged : 0
  const out = Array.from(verdict.out)
  for (const [i, { delay, shapes, capacity }] of policies.entries()) {
    const at = i * outSize
    out[at + Out.remaining] = Math.min(capacity, out[at + Out.remaining]! + charged)
    out[at + Out.retryAfterMs] = delay !== null || shapes ? waitMs : 0
    out[at + Out.delayMs] = 0
  }
  const { isBlocked, at, source } = verdict
  return { isAllowed: false, isBlocked, charged: 0, at, source, policies, out }
}
