import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common'
import { retryAfterSeconds } from '../http/headers/index.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'

/** Codes of GraphQL errors. */
const codes: Readonly<Record<number, string>> = {
  403: 'FORBIDDEN',
  429: 'TOO_MANY_REQUESTS',
  503: 'SERVICE_UNAVAILABLE'
}

/** What a denied request would be answered, and how. */
export interface Answer {
  readonly status: number
  /** The JSON body, or what `onLimited` returned. */
  readonly body: unknown
  /** Sends the answer, in the form that the request accepts, unless something has been sent. */
  send(): void
}

/**
 * A request that is denied: 429, or what `statusCode` says; 403 for an address of the deny list; 503 where the store
 * failed. Headers are set on the response before it is thrown. Where no exception filter answers it, the body is text,
 * JSON or problem details, as the request accepts it.
 */
export class RateLimitException extends HttpException {
  /** What was decided; undefined for an address of the deny list. */
  readonly rateLimit: RequestRateLimit | undefined
  readonly #answer: Answer

  /** @internal */
  constructor(answer: Answer, rateLimit: RequestRateLimit | undefined) {
    super(answer.body as object, answer.status)
    this.rateLimit = rateLimit
    this.#answer = answer
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
    this.#answer.send()
  }
}

/** The last of the exception filters: it answers what no other has caught. */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw exception
    exception.send()
  }
}

Catch(RateLimitException)(RateLimitFilter)
