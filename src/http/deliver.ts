import type { Gate } from './gate.js'
import type { Host } from './host.js'
import { isOfOtherAnswer } from './other-answer.js'
import { type DenialResponse, type Held, type Outcome, passed } from './outcome.js'
import { asError, isPromiseLike } from './promise.js'

/** Ends the gate's part of a request: the framework goes on, or to its error handler. */
export type Next = (error?: Error) => void

/** What requests are taken through: a gate of limits, or of another kind. */
export type Entry<Req, Res> = Pick<Gate<Req, Res>, 'enter'>

/**
 * Takes a request through a gate and does what it decides, for frameworks that wait for a callback: it is called when
 * the request may go on, and with what the user's functions throw.
 */
export function takeThrough<Req, Res>(
  gate: Entry<Req, Res>,
  host: Host<Req, Res>,
  request: Req,
  response: Res,
  next: Next
): void {
  let outcome: Outcome | PromiseLike<Outcome>
  try {
    outcome = gate.enter(host, request, response)
    if (outcome !== passed && !isPromiseLike(outcome) && outcome.kind === 'denied')
      sendDenial(host, response, outcome.response)
  } catch (error) {
    next(asError(error))
    return
  }
  // Not within the `try`: what the framework goes on to may throw, and that is not the gate's.
  if (outcome === passed) next()
  else if (isPromiseLike(outcome)) deliverLate(outcome, host, response, next)
  else if (outcome.kind === 'held') hold(outcome, next)
  // Of a gate of another copy of this package.
  else if (outcome.kind === 'passed') next()
}

function deliverLate<Res>(
  outcome: PromiseLike<Outcome>,
  host: Host<never, Res>,
  response: Res,
  next: Next
): void {
  const failed = (error: unknown) => next(asError(error))
  outcome.then((late) => {
    if (late.kind === 'passed') next()
    else if (late.kind === 'held') hold(late, next)
    else if (late.kind === 'denied') {
      try {
        sendDenial(host, response, late.response)
      } catch (error) {
        failed(error)
      }
    }
  }, failed)
}

/**
 * Takes a request through a gate and does what it decides, for frameworks that await: true where the request goes on.
 * While it is held, and for ever once its client has left, the promise is pending.
 * @throws what the user's functions throw, as an error
 */
export async function admits<Req, Res>(
  gate: Gate<Req, Res>,
  host: Host<Req, Res>,
  request: Req,
  response: Res
): Promise<boolean> {
  try {
    const outcome = await gate.enter(host, request, response)
    if (outcome.kind === 'denied') sendDenial(host, response, outcome.response)
    else if (outcome.kind === 'held') await new Promise<void>((resolve) => hold(outcome, resolve))
    return outcome.kind === 'passed' || outcome.kind === 'held'
  } catch (error) {
    throw asError(error)
  }
}

/** Lets a held request go on when its turn has come, unless its client leaves before. */
export function hold({ whenDue }: Held, next: () => void): void {
  whenDue(next)
}

/**
 * Sends a denial, unless somebody has answered. Of a response that has begun nothing more is sent.
 * @throws the error that is to answer, for the framework's handler of errors
 */
export function sendDenial<Res>(host: Host<never, Res>, response: Res, denial: DenialResponse): void {
  if (host.hasAnswered(response)) return
  if (host.isOnWire(response)) {
    host.cutShort(response)
    return
  }
  setHead(host, response, denial)
  sendBody(host, response, denial)
}

/** Sets status and header fields of a denial, unless they are on the wire. */
export function setHead<Res>(
  host: Host<never, Res>,
  response: Res,
  { status, names, values, isFresh }: Omit<DenialResponse, 'body'>
): void {
  if (host.isOnWire(response)) return
  host.setStatus(response, status)
  host.setHeaders(response, names, values)
  if (isFresh)
    for (const name of host.headerNames(response))
      if (isOfOtherAnswer(host, name)) host.removeHeader(response, name)
}

/**
 * Ends a response whose status and header fields are set.
 * @throws the error that is to answer
 */
export function sendBody<Res>(host: Host<never, Res>, response: Res, { body }: DenialResponse): void {
  if (body.kind === 'error') throw body.error
  if (body.kind === 'value') host.sendValue(response, body.value)
  else host.send(response, body.content)
}
