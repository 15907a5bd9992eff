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
  getHeader(response: Res, name: string): string | undefined
  /** Sets those whose value is not empty, unless headers are on the wire. */
  setHeaders(response: Res, names: readonly string[], values: readonly string[]): void
  removeHeader(response: Res, name: string): void
  /** True once somebody has ended the response or has taken it over: nobody else is to answer. */
  hasAnswered(response: Res): boolean
  /** True once status and headers are on the wire: neither can change. */
  isOnWire(response: Res): boolean
  status(response: Res): number
  setStatus(response: Res, status: number): void
  /** Ends a response whose status and other headers are set. */
  send(response: Res, body: DenialBody): void
  /** Ends such a response with a value, as the framework's own handlers would have it sent. */
  sendValue(response: Res, value: unknown): void
  /** Ends a response whose headers are on the wire. */
  cutShort(response: Res): void
  /** Calls back when the response was sent whole; not when the client went away before. */
  onFinish(response: Res, finished: (status: number) => void): void
  /** True once the response ended or the client went away. */
  isClosed(response: Res): boolean
  /** Calls back when the response ended or the client went away. */
  onClose(response: Res, closed: () => void): void
}

/** True while a request can still be answered. */
export function isOpen<Res>(host: Host<never, Res>, response: Res): boolean {
  return !host.hasAnswered(response) && !host.isOnWire(response)
}
