import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Host } from '../../http/host.js'
import { hasBody } from '../../http/preflight.js'
import type { RequestRateLimit } from '../../http/request-rate-limit.js'
import { type ExpressApp, trustOf } from './internals.js'

/** What is used of an Express request. */
export interface ExpressRequest extends IncomingMessage {
  readonly app?: ExpressApp
  readonly ip?: unknown
  rateLimit?: RequestRateLimit
}

/** Express 4 and 5, and bare Node servers, which trust no proxy. */
export const expressHost: Host<ExpressRequest, ServerResponse> = {
  method: (request) => request.method ?? '',
  header({ headers }, name) {
    const value = headers[name]
    return value !== undefined && Object.hasOwn(headers, name) ? value : undefined
  },
  hasBody,
  socket: (request) => request.socket,
  trust: ({ app }) => trustOf(app),
  ip: (request) => request.ip,
  trustSetting: ({ app }) => app?.get?.('trust proxy'),
  trustOption: 'trust proxy',
  setRecord(request, record) {
    request.rateLimit = record
  },
  getHeader: (response, name) => headerText(response.getHeader(name)),
  // Each look at a response goes through all of Express's prototypes anew (bench/http.js): one, in place of five.
  setHeaders(response, names, values) {
    const { setHeader } = response
    try {
      for (let i = 0; i < names.length; i++)
        if (values[i] !== '') setHeader.call(response, names[i]!, values[i]!)
    } catch (error) {
      if (!response.headersSent) throw error
    }
  },
  removeHeader: (response, name) => response.removeHeader(name),
  hasAnswered: (response) => response.writableEnded,
  isOnWire: (response) => response.headersSent,
  status: (response) => response.statusCode,
  setStatus(response, status) {
    response.statusCode = status
  },
  send(response, { contentType, body }) {
    response.setHeader('Content-Type', contentType)
    response.end(body)
  },
  sendValue(response, value) {
    const isText = typeof value === 'string' || value instanceof Uint8Array
    if (!isText) response.setHeader('Content-Type', 'application/json; charset=utf-8')
    response.end(isText ? value : JSON.stringify(value))
  },
  cutShort(response) {
    // Whoever began the response may go on writing; nobody else listens for the error that this makes.
    response.on('error', () => {})
    response.end()
  },
  onFinish: (response, finished) => void response.once('finish', () => finished(response.statusCode)),
  isClosed: (response) => response.closed || response.destroyed,
  onClose: (response, closed) => void response.once('close', closed)
}

function headerText(value: number | string | readonly string[] | undefined): string | undefined {
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
