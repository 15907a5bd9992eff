import { Catch, type ExceptionFilter, HttpException } from '@nestjs/common'
import { denialJson } from '../http/denial.js'
import { retryAfterSeconds } from '../http/headers/index.js'
import type { Denied, ResponseBody } from '../http/outcome.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'

/** Codes of GraphQL errors. */
const codes: Readonly<Record<number, string>> = {
  403: 'FORBIDDEN',
  429: 'TOO_MANY_REQUESTS',
  503: 'SERVICE_UNAVAILABLE'
}

/**
 * A request that is denied: 429, or what `statusCode` says; 403 for an address of the deny list; 503 where the store
 * failed. Headers are set on the response before it is thrown. Where no exception filter answers it, the body is text,
 * JSON or problem details, as the request accepts it.
 */
export class RateLimitException extends HttpException {
  /** What was decided; undefined for an address of the deny list. */
  readonly rateLimit: RequestRateLimit | undefined
  readonly #send: (() => void) | null

  /** @internal `send` sends what is denied, in the form that the request accepts, unless something has been sent. */
  constructor({ response, rateLimit }: Denied, send: (() => void) | null, cause?: Error) {
    const body = send === null ? errorBody(response.body) : bodyOf(response.body)
    super(body as object, response.status, cause && { cause })
    this.rateLimit = rateLimit
    this.#send = send
  }

  /** The wait, as in the Retry-After field; null where waiting does not help, or nobody knows. */
  get retryAfterSeconds(): number | null {
    return this.rateLimit === undefined ? null : retryAfterSeconds(this.rateLimit.tiers)
  }

  /** What GraphQL errors carry. */
  get extensions(): Readonly<Record<string, unknown>> {
    const status = this.getStatus()
    const wait = this.retryAfterSeconds
    return { code: codes[status] ?? 'DENIED', status, ...(wait === null ? null : { retryAfter: wait }) }
  }

  /** Answers the request as it is answered where no exception filter does. For filters that catch everything. */
  send(): void {
    this.#send?.()
  }

  /** @internal False where there is no response to send it in: for messages, resolvers, and calls of libraries. */
  get canSend(): boolean {
    return this.#send !== null
  }
}

/** What filters are told: the JSON body, or what `onLimited` returned. */
function bodyOf(body: ResponseBody): unknown {
  if (body.kind === 'error') throw body.error
  return body.kind === 'value' ? body.value : denialJson(body.denial)
}

/**
 * A denial that `onLimited` answered by an error, with the body that Nest would make of it: that of any denial, and the
 * error's message.
 * @throws the error itself, if it is one that Nest knows how to answer
 */
export function withErrorBody(denied: Denied): Denied {
  const { response, rateLimit } = denied
  if (response.body.kind !== 'error') return denied
  const error = response.body.error as Error & { getStatus?: unknown; statusCode?: number; status?: number }
  if (typeof error.getStatus === 'function') throw error
  const status = error.statusCode ?? error.status ?? response.status
  const wait = retryAfterSeconds(rateLimit?.tiers ?? [])
  const value = denialJson({
    kind: 'quota',
    status,
    violatedPolicies: [],
    retryAfterSeconds: wait,
    message: error.message
  })
  return { ...denied, response: { ...response, status, body: { kind: 'value', value } } }
}

/** The same where an error tells of it: Nest's drivers of Apollo put a code of their own on one with a status code. */
function errorBody(body: ResponseBody): unknown {
  const { statusCode, ...rest } = bodyOf(body) as { readonly statusCode?: unknown }
  return rest
}

/** The last of the exception filters: it answers what no other has caught. */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException): void {
    if (!exception.canSend) throw exception
    exception.send()
  }
}

Catch(RateLimitException)(RateLimitFilter)
