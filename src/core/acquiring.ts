import type { Admission } from './admission.js'
import { HeadgateError } from './errors.js'
import { checkCost } from './key-and-cost.js'
import { badOption } from './options.js'
import { type Holder, OwnPermit, type Permit } from './permit.js'
import type { Policy } from './policy.js'
import { isPromiseLike } from './promise.js'
import type { Verdict } from './verdict.js'
import { Leaver } from './waiter.js'

/** What is used of an `AbortSignal`. */
export interface WaitSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** How one waits for permits. */
export interface WaitOptions {
  /** Gives up the place in line when it is aborted. */
  readonly signal?: WaitSignal | undefined
}

/** What became of work that needs permits: done, or not begun. */
export type Ran<T> =
  | { readonly allowed: true; readonly value: T; readonly decision: Permit }
  | { readonly allowed: false; readonly value?: undefined; readonly decision: Permit }

/** What a limiter of either kind lends to `acquire`. */
export interface Acquiring extends Holder {
  readonly policies: readonly Policy[]
  /** null where nothing is counted in flight. */
  readonly admission: Admission | null
  take(key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict>
}

/** Takes permits: at once, or by a promise where the store or a line wants it. */
export function acquired(
  limiter: Acquiring,
  key: string,
  cost: number,
  { signal }: WaitOptions = {}
): Permit | Promise<Permit> {
  const { admission, policies } = limiter
  const hold = (verdict: Verdict) => new OwnPermit(verdict, limiter, key, cost)
  if (admission === null || checkCost(cost) === 0) {
    const verdict = limiter.take(key, cost, policies)
    return isPromiseLike<Verdict>(verdict) ? verdict.then(hold) : hold(verdict)
  }
  if (signal?.aborted === true) return Promise.reject(signal.reason)
  const leaver = admission.hasLine ? new Leaver() : null
  const verdict = admission.admit({ key, cost, policies }, leaver)
  if (!isPromiseLike<Verdict | null>(verdict)) {
    // What a store in the process says is to be read at once.
    const permit = hold(verdict)
    return leaver === null ? permit : Promise.resolve(permit)
  }
  const permit = verdict.then((late) => (late === null ? Promise.reject(signal!.reason) : hold(late)))
  return leaver === null || signal === undefined ? permit : leavingBy(signal, leaver, permit)
}

/** Has somebody leave when a signal says so. */
function leavingBy(signal: WaitSignal, leaver: Leaver, permit: Promise<Permit>): Promise<Permit> {
  const leave = () => leaver.leave()
  signal.addEventListener('abort', leave)
  return permit.finally(() => signal.removeEventListener('abort', leave))
}

/** Does work with permits, and releases them. */
export async function ranWith<T>(
  acquire: () => Permit | Promise<Permit>,
  work: (permit: Permit) => T | PromiseLike<T>
): Promise<Ran<T>> {
  if (typeof work !== 'function') throw badOption('work', work, 'give a function that does it')
  const decision = await acquire()
  if (!decision.allowed) return { allowed: false, decision }
  try {
    const value = await work(decision)
    decision.release()
    return { allowed: true, value, decision }
  } catch (error) {
    decision.release(isRefusal(error) ? 'ignored' : 'failure')
    throw error
  }
}

/** True for an error that says nothing of capacity: with a status such as 404. */
function isRefusal(error: unknown): boolean {
  const { status, statusCode = status } = Object(error) as {
    readonly status?: unknown
    readonly statusCode?: unknown
  }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
}

/** The error for a way of deciding that would take permits which nobody could give back. */
export function mustRelease(method: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MUST_RELEASE',
    `\`${method}\` takes nothing that is given back, and \`concurrency\` counts what is in flight: call \`acquire\`, whose answer has \`release()\`, or \`run\`.`
  )
}
