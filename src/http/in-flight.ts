import type { WorkResult } from '../core/adaptive/adaptive-limit.js'
import type { Admission } from '../core/admission.js'
import type { Permit } from '../core/permit.js'
import type { Verdict } from '../core/verdict.js'
import { Leaver } from '../core/waiter.js'
import { onEnded, whenEnded } from './endings.js'
import { type Exchange, exchangeOf } from './host.js'
import { answered, type Outcome } from './outcome.js'
import { isPromiseLike } from './promise.js'
import type { Asked } from './request-rate-limit.js'

/** Makes the outcome of a verdict about a request that is over with this exchange. */
type Conclude = (verdict: Verdict, exchange: Exchange) => Outcome | PromiseLike<Outcome>

/**
 * Decides where what is in flight is counted: the request may have to wait, and is answered to nobody once its client has
 * left.
 * @param mayWait false for what is only watched
 */
export function admitInFlight<Req, Res>(
  asked: Asked<Req, Res>,
  admission: Pick<Admission, 'hasLine' | 'admit'>,
  mayWait: boolean,
  conclude: Conclude
): Outcome | PromiseLike<Outcome> {
  const exchange = exchangeOf(asked.host, asked.response)
  const leaver = admission.hasLine && mayWait ? new Leaver() : null
  const verdict = admission.admit(asked, leaver, mayWait)
  if (!isPromiseLike<Verdict | null>(verdict)) return conclude(verdict, exchange)
  const stop = leaver === null ? null : whenEnded(exchange.host, exchange.response, () => leaver.leave())
  return verdict.then((late) => {
    stop?.()
    return late === null ? answered : conclude(late, exchange)
  })
}

/** Has a permit released at the end of its request; true if that has come already. */
export function releaseAtEnd(permit: Permit, exchange: Exchange): boolean {
  return onEnded(exchange.host, exchange.response, (isWhole) => permit.release(resultOf(exchange, isWhole)))
}

/** What the end of a response says of capacity. */
function resultOf({ host, response }: Exchange, isWhole: boolean): WorkResult {
  if (!isWhole) return 'aborted'
  const status = host.sentStatus(response)
  if (status >= 500) return 'failure'
  return status >= 200 && status < 400 ? 'success' : 'ignored'
}
