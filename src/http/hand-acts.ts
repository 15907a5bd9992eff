import { AsyncPolicyLimiter } from '../core/async-limiter.js'
import type { Duration } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'
import type { AnyRequest } from './keyed-limiter.js'
import { gather, isPromiseLike } from './promise.js'
import type { RuleSource, Rules } from './rules.js'

/** A value, or a promise of it where the store is outside the process. */
export type Late<T> = T | Promise<T>

/** Forgets a key in all limiters of a part; true if it owed something or was blocked. */
export function resetIn(
  key: string,
  { laterBlocks, sample, limiters }: RuleSource<AnyRequest>
): Late<boolean> {
  const wasBlocked = laterBlocks?.delete(key, sample) === true
  const resets = limiters.map((limiter) => () => {
    const wasThere = after<Verdict, boolean>(limiter.look(key, limiter.policies), isThere)
    const reset = limiter.reset(key)
    return reset instanceof Promise ? reset.then(() => wasThere) : wasThere
  })
  return after(gather(resets), (were) => wasBlocked || isAny(were))
}

/** Denies a key in all limiters of a part, and in those of windows that are yet to come. */
export function blockIn(
  key: string,
  { laterBlocks, sample, limiters }: RuleSource<AnyRequest>,
  duration: Duration
): Late<void> {
  if (limiters.length === 0 && sample instanceof AsyncPolicyLimiter)
    throw misuse('the windows that other processes count by are not known here')
  laterBlocks?.add(key, duration, sample)
  return after(gather<void>(limiters.map((limiter) => () => limiter.block(key, duration))), nothing)
}

/** @throws HeadgateError `HEADGATE_MISUSE` where nothing was decided yet */
export function lastRules(rules: RuleSource<AnyRequest>, key: string): Rules {
  const known = rules.lastFor(key)
  if (known !== undefined) return known
  throw misuse(`this process has decided nothing about '${key}' yet`)
}

/** True if one of them is. */
export function isAny(were: readonly boolean[]): boolean {
  return were.includes(true)
}

/** What changes something answers nothing. */
export function nothing(): void {}

/** Goes on at once, or once a promise has come true. */
export function after<T, U>(value: Late<T>, next: (value: T) => Late<U>): Late<U> {
  return isPromiseLike(value) ? Promise.resolve(value as Promise<T>).then(next) : next(value as T)
}

/** True for a key that owes something or is blocked. */
function isThere({ isBlocked, policies, out }: Verdict): boolean {
  return isBlocked || policies.some((_, i) => out[i * outSize + Out.resetMs]! > 0)
}

/** What of a verdict tells how much a key owes: a copy, as the next decision overwrites it. */
export function owed({ policies, out }: Verdict): readonly number[] {
  return policies.flatMap((_, i) => [out[i * outSize + Out.remaining]!, out[i * outSize + Out.resetMs]!])
}

/** The error for somebody of whom too little is known. */
export function misuse(why: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MISUSE',
    `What limits a request depends on the request, and ${why}: give the request.`
  )
}
