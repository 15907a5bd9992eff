import { HeadgateError } from '../core/errors.js'
import type { PeerSocket, TrustedHops } from './client-address.js'
import type { DenialBody } from './denial.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/**
 * What a gate needs of a framework: how to read its requests and to write its responses. A host keeps nothing of a
 * request itself, and all gates share it.
 */
export interface Host<Req, Res> {
  /**
   * True where one request makes several calls, as in GraphQL. Each is counted, and none has a response of its own on
   * which `onLimited` could answer.
   */
  readonly hasManyCalls?: true
  method(request: Req): string
  /** What was asked for, path and query, as the client sent it; left out where calls have none. */
  url?(request: Req): string | undefined
  /** The template of the request's route; null where it has none, undefined where nobody knows it yet, or ever. */
  route?(request: Req): string | null | undefined
  /** A request header by its lower-case name. */
  header(request: Req, name: string): string | readonly string[] | undefined
  /** True where the request has a body. */
  hasBody(request: Req): boolean
  socket(request: Req): PeerSocket | null | undefined
  /** The framework's own trust in proxies; null where it trusts none. */
  trust(request: Req): TrustedHops | null
  /** The framework's own word on the client by X-Forwarded-For, where it has one. */
  ip(request: Req): unknown
  /** That setting as it was written, where the framework shows it; for warnings only. */
  trustSetting(request: Req): unknown
  /** How it is called. */
  readonly trustOption: string
  /** Puts it where users find it. It may replace another library's: ours is kept elsewhere as well. */
  setRecord(request: Req, record: RequestRateLimit): void
  /** The names of all header fields that are set. */
  headerNames(response: Res): readonly string[]
  getHeader(response: Res, name: string): string | undefined
  /** Sets those whose value is not empty, unless headers are on the wire. */
  setHeaders(response: Res, names: readonly string[], values: readonly string[]): void
  removeHeader(response: Res, name: string): void
  /** What denials are where the request prefers no form: that of the framework's own errors. Text if left out. */
  readonly denialForm?: 'text' | 'json'
  /** True once somebody has ended the response or has taken it over: nobody else is to answer. */
  hasAnswered(response: Res): boolean
  /**
   * Looks out for somebody who begins to answer without `hasAnswered` telling of it yet; null where nobody can, or
   * nothing shows it.
   */
  watchAnswer(response: Res): AnswerWatch | null
  /** True once status and headers are on the wire: neither can change. */
  isOnWire(response: Res): boolean
  status(response: Res): number
  /** Sets it as a default: a redirect or an error that is sent after all has a status of its own. */
  /** The status that was sent, which a response may no longer show as its own. */
  sentStatus(response: Res): number
  setStatus(response: Res, status: number): void
  /** Ends a response whose status and other headers are set. */
  send(response: Res, body: DenialBody): void
  /** Ends such a response with a value, as the framework's own handlers would have it sent. */
  sendValue(response: Res, value: unknown): void
  /** Ends a response whose headers are on the wire. */
  cutShort(response: Res): void
  /** True once the response ended or the client went away. */
  isClosed(response: Res): boolean
  /**
   * Calls back when the response was sent whole (true), and when it ended otherwise or its client went away (false). Of
   * several calls the first counts. It is asked once a response, whatever waits for the end.
   */
  onEnd(response: Res, ended: (isWhole: boolean) => void): void
  /**
   * For calls that have no response of their own: the one with which a call is over; null where nothing tells of that, so
   * that the call cannot be counted in flight.
   */
  exchangeOf?(call: Res): Exchange | null
}

/** A response, and how to speak with it. */
export interface Exchange {
  readonly host: Host<never, object>
  readonly response: object
}

/** What looks out for an answer. */
export interface AnswerWatch {
  /** True once somebody has begun to answer. */
  hasBegun(): boolean
  stop(): void
}

/** True while a request can still be answered. */
export function isOpen<Res>(host: Host<never, Res>, response: Res): boolean {
  return !host.hasAnswered(response) && !host.isOnWire(response)
}

/**
 * The response with which a call is over.
 * @throws HeadgateError `HEADGATE_MISUSE` where nothing tells of that
 */
export function exchangeOf<Res>(host: Host<never, Res>, response: Res): Exchange {
  if (host.exchangeOf === undefined)
    return { host: host as Host<never, object>, response: response as object }
  const exchange = host.exchangeOf(response)
  if (exchange !== null) return exchange
  throw new HeadgateError(
    'HEADGATE_MISUSE',
    'Nothing tells when this message has been handled, so it cannot be counted in flight: call `run` of a limiter in its handler.'
  )
}
