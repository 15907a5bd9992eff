import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnswerWatch, Host } from '../../http/host.js'
import { isResponseOver, onResponseOver } from '../../http/node-response.js'
import { hasBody } from '../../http/preflight.js'
import type { RequestRateLimit } from '../../http/request-rate-limit.js'
import { sentStatus } from '../sent-status.js'
import { asGiven, watchCalls } from '../watch-calls.js'
import { type ExpressApp, trustOf } from './internals.js'

/** What is used of an Express request. */
export interface ExpressRequest extends IncomingMessage {
  readonly app?: ExpressApp
  readonly ip?: unknown
  readonly originalUrl?: string
  /** The path of the router, with the values of its parameters. */
  readonly baseUrl?: string
  /** Set once a route is found. */
  readonly route?: { readonly path?: unknown }
  rateLimit?: RequestRateLimit
}

/** Express 4 and 5, and bare Node servers, which trust no proxy. */
export const expressHost: Host<ExpressRequest, ServerResponse> = {
  method: (request) => request.method ?? '',
  url: (request) => request.originalUrl ?? request.url,
  route: routeOf,
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
  // Objects that stand for a response, as in unit tests, may have none.
  headerNames: (response: Partial<ServerResponse>) => response.getHeaderNames?.() ?? [],
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
  sentStatus,
  setStatus(response, status) {
    response.statusCode = status
  },
  send(response, { contentType, body }) {
    response.setHeader('Content-Type', contentType)
    response.end(body)
  },
  sendValue,
  watchAnswer,
  cutShort(response) {
    // Whoever began the response may go on writing; nobody else listens for the error that this makes.
    response.on('error', () => {})
    response.end()
  },
  isClosed: isResponseOver,
  onEnd: onResponseOver
}

/** Routes of several paths, and of regular expressions, have no one template. */
function routeOf({ route, baseUrl = '' }: ExpressRequest): string | undefined {
  const path = route?.path
  return typeof path === 'string' ? baseUrl + path : undefined
}

/** Methods of Express that answer, but not before they return. */
const slowAnswers = { render: asGiven, sendFile: asGiven, sendfile: asGiven, download: asGiven }

function watchAnswer(response: ServerResponse): AnswerWatch {
  const watch = watchCalls(response, slowAnswers)
  let isPiped = false
  const piped = () => {
    isPiped = true
  }
  response.once('pipe', piped)
  return {
    hasBegun: () => isPiped || watch.hasBegun(),
    stop() {
      response.off('pipe', piped)
      watch.stop()
    }
  }
}

/** Sends a value with the Content-Type that `response.send` gives it, unless it has one. */
function sendValue(response: ServerResponse, value: unknown): void {
  const type = headerText(response.getHeader('Content-Type'))
  if (value instanceof Uint8Array) {
    if (type === undefined) response.setHeader('Content-Type', 'application/octet-stream')
    response.end(value)
    return
  }
  const body = typeof value === 'string' ? value : JSON.stringify(value)
  const { [typeof value === 'string' ? 'text' : 'json']: own } = valueTypes
  response.setHeader('Content-Type', type === undefined ? own : inUtf8(type))
  response.end(body)
}

const valueTypes = { text: 'text/html; charset=utf-8', json: 'application/json; charset=utf-8' } as const

function inUtf8(type: string): string {
  return /;\s*charset=/i.test(type) ? type : `${type}; charset=utf-8`
}

function headerText(value: number | string | readonly string[] | undefined): string | undefined {
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
