import { setHead } from './deliver.js'
import { type Host, isOpen } from './host.js'
import { answered, type DenialResponse, type Outcome, type ResponseBody } from './outcome.js'
import { isError, isPromiseLike } from './promise.js'
import type { RequestRateLimit } from './request-rate-limit.js'

const nothing: readonly string[] = []

/** What is to be answered by a function of the user's. */
export interface HandOver {
  /** What is set before it is called. */
  readonly head: Pick<DenialResponse, 'status' | 'names' | 'values'>
  /** Calls it. */
  readonly call: () => unknown
  /** What is answered where it returns nothing, on a response that has the head already. */
  readonly otherwise: () => Outcome | PromiseLike<Outcome>
  readonly rateLimit: RequestRateLimit | undefined
}

/**
 * Lets a function of the user's answer a denied request. If it fails, the status that the framework's error handler finds is
 * the earlier one.
 * @throws what the function throws
 */
export function handOver<Res>(
  host: Host<never, Res>,
  response: Res,
  { head, call, otherwise, rateLimit }: HandOver
): Outcome | PromiseLike<Outcome> {
  const before = host.status(response)
  setHead(host, response, { ...head, isFresh: true })
  const watch = host.watchAnswer(response)
  const hasAnswered = () => watch?.hasBegun() === true || !isOpen(host, response)
  const failed = (error: unknown): never => {
    watch?.stop()
    if (!hasAnswered()) host.setStatus(response, before)
    throw error
  }
  const take = (value: unknown) => {
    watch?.stop()
    if (hasAnswered()) return answered
    // A chained setter, as in `(req, res) => res.status(503)`, returns the response and says nothing.
    return value === undefined || value === response ? otherwise() : taken(host, response, value, rateLimit)
  }
  try {
    const value = call()
    if (!isPromiseLike(value) || value === response) return take(value)
    return Promise.resolve(value).then(take).catch(failed)
  } catch (error) {
    return failed(error)
  }
}

/** What it returned is sent. Status and fields are as it left them. */
function taken<Res>(
  host: Host<never, Res>,
  response: Res,
  value: unknown,
  rateLimit: RequestRateLimit | undefined
): Outcome {
  const status = host.status(response)
  const head = { status, names: nothing, values: nothing, isFresh: false }
  const body: ResponseBody = isError(value)
    ? { kind: 'error', error: withStatus(value, status) }
    : { kind: 'value', value }
  return { kind: 'denied', response: { ...head, body }, rateLimit }
}

/** The error with the status of the denial, as `createError(429, error)` of http-errors has it; its own comes first. */
function withStatus(error: Error, status: number): Error {
  const known = error as { readonly status?: unknown; readonly statusCode?: unknown }
  if (isErrorStatus(known.statusCode) || isErrorStatus(known.status)) return error
  const own = { status, statusCode: status, expose: status < 500 }
  const target = Object.isExtensible(error) ? error : new Error(error.message, { cause: error })
  return Object.assign(target, own)
}

function isErrorStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
}
