import type { PeerSocket, TrustFunction } from './client-address.js'
import type { Denial, DenialBody } from './denial.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/** What the gate needs of a framework. An adapter gives one; it is stateless and shared by all its gates. */
export interface Host<Req, Res> {
  /** True where one request makes several calls, each to be counted. */
  readonly hasManyCalls?: true
  method(request: Req): string
  /** A request header by its lower-case name. */
  header(request: Req, name: string): string | readonly string[] | undefined
  socket(request: Req): PeerSocket | null | undefined
  /** The framework's own trust in proxies; null where it trusts none. */
  trust(request: Req): TrustFunction | null
  /** That setting as it was written, where the framework shows it; for warnings only. */
  trustSetting(request: Req): unknown
  /** How it is called. */
  readonly trustOption: string
  /** What stands where earlier limiters put their record. */
  recordOf(request: Req): unknown
  setRecord(request: Req, record: RequestRateLimit): void
  getHeader(response: Res, name: string): string | undefined
  setHeader(response: Res, name: string, value: string): void
  /** Sets those whose value is not empty, unless headers are on their way. */
  setHeaders(response: Res, names: readonly string[], values: readonly string[]): void
  removeHeader(response: Res, name: string): void
  /** True once the response's headers are on their way. */
  isSent(response: Res): boolean
  status(response: Res): number
  setStatus(response: Res, status: number): void
  /** Ends a denied response, whose status and other headers are set. */
  send(response: Res, body: DenialBody, denial: Denial): void
  /** Sends a value, in answer to a denied request, as the framework's own handlers would have it sent. */
  sendValue(response: Res, value: unknown, status: number): void
  /** Ends a response whose headers are sent already. */
  cutShort(response: Res): void
  /** Calls back when the response was sent whole; not when the client went away before. */
  onFinish(response: Res, finished: (status: number) => void): void
  /** True once the response ended or the client went away. */
  isClosed(response: Res): boolean
  /** Calls back when the response ended or the client went away. */
  onClose(response: Res, closed: () => void): void
}
