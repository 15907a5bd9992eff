import { HeadgateError } from '../errors.js'
import { divideUp } from '../exact.js'
import { checkCost } from '../key-and-cost.js'
import { countsInFlight } from '../permit-buckets.js'
import type { Policy } from '../policy.js'
import { Out, outSize, type Verdict } from '../verdict.js'

/** No penalty makes a key wait for longer than so many windows, or than a day where that is shorter. */
const mostWindows = 10
const longestMs = 86_400_000

/** What penalises one key: it looks, charges what is spent, and blocks for a time, never shortening a block. */
export interface Penaliser<V, B> {
  readonly look: () => V
  readonly charge: () => V
  readonly block: (blockMs: number) => B
}

/** Charges a key units that nobody asked for, in a store in the process, and has it wait for those beyond full. */
export function penalise(by: Penaliser<Verdict, void>, units: number, policies: readonly Policy[]): Verdict {
  checkUnits('penalty', units, policies)
  if (units === 0) return by.look()
  const beyondMs = beyondFull(by.look(), units)
  by.charge()
  const blockMs = beyondMs === null ? 0 : blockOf(by.look(), beyondMs)
  if (blockMs > 0) by.block(blockMs)
  return by.look()
}

/**
 * The same in a store outside the process.
 * @throws HeadgateError `HEADGATE_STORE_FAILED` where nothing was charged
 */
export async function penaliseLater(
  by: Penaliser<Verdict | Promise<Verdict>, Promise<void>>,
  units: number,
  policies: readonly Policy[]
): Promise<Verdict> {
  checkUnits('penalty', units, policies)
  if (units === 0) return by.look()
  // In one go, so that nothing comes in between, and the store is asked once.
  const [before, charged] = await Promise.all([by.look(), by.charge()])
  if (charged.source === 'allow' || charged.source === 'deny')
    throw new HeadgateError('HEADGATE_STORE_FAILED', 'The store fails, so the penalty was not charged.')
  const beyondMs = beyondFull(before, units)
  const blockMs = beyondMs === null ? 0 : blockOf(await by.look(), beyondMs)
  if (blockMs > 0) await by.block(blockMs)
  return by.look()
}

/**
 * Checks units that are to be charged or given back by hand.
 * @throws HeadgateError `HEADGATE_BAD_COST`, or `HEADGATE_MISUSE` where nothing is counted in a window
 */
export function checkUnits(method: string, units: number, policies: readonly Policy[]): void {
  if (checkCost(units) >= 0 && !policies.every(countsInFlight)) return
  throw new HeadgateError(
    'HEADGATE_MISUSE',
    `\`${method}\` is about units of a window, and \`concurrency\` alone counts what is in flight: that comes back when it is released. \`block(key, duration)\` keeps a key out.`
  )
}

/** How long the units that find nothing left take to come back, by tier; null where there are none. */
function beyondFull({ policies, out }: Verdict, units: number): readonly number[] | null {
  const beyondMs = policies.map((policy, i) => {
    const beyond = units - out[i * outSize + Out.remaining]!
    const { limit, windowMs, isEndless } = policy
    if (beyond <= 0 || limit === 0 || isEndless || countsInFlight(policy)) return 0
    // What takes longer than is ever asked for needs no exact time.
    const most = Math.ceil((longestMs * limit) / windowMs)
    return divideUp(Math.min(beyond, most) * windowMs, limit)
  })
  return beyondMs.some((ms) => ms > 0) ? beyondMs : null
}

/** For how long a key is to be blocked: what it waits for anyway, and then for those units. 0 if it is denied for good. */
function blockOf({ policies, out }: Verdict, beyondMs: readonly number[]): number {
  let waitMs = 0
  let blockMs = 0
  let windowMs = 0
  for (const [i, policy] of policies.entries()) {
    if (countsInFlight(policy)) continue
    const own = out[i * outSize + Out.retryAfterMs]!
    waitMs = Math.max(waitMs, own)
    if (beyondMs[i]! > 0) blockMs = Math.max(blockMs, own + beyondMs[i]!)
    windowMs = Math.max(windowMs, policy.windowMs)
  }
  if (waitMs === Number.POSITIVE_INFINITY) return 0
  return Math.min(blockMs, Math.max(Math.min(mostWindows * windowMs, longestMs), waitMs))
}
