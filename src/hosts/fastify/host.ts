import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AnswerWatch, Host } from '../../http/host.js'
import { isResponseOver, onResponseOver } from '../../http/node-response.js'
import { hasBody } from '../../http/preflight.js'
import { sentStatus } from '../sent-status.js'
import { type Answering, asGiven, watchCalls } from '../watch-calls.js'
import { exactly, isGone, isWhole, lowerCase, setDefaultStatus, trustOf, urlOf } from './internals.js'

/** Fastify 5. Headers go through the reply, so that later hooks see them. */
export const fastifyHost: Host<FastifyRequest, FastifyReply> = {
  method: (request) => request.raw.method ?? '',
  url: urlOf,
  route: (request) => request.routeOptions.url ?? null,
  header({ headers }, name) {
    const value = headers[name]
    return value !== undefined && Object.hasOwn(headers, name) ? value : undefined
  },
  hasBody: ({ raw }) => hasBody(raw),
  socket: (request) => request.raw.socket,
  trust: trustOf,
  ip: (request) => request.ip,
  trustSetting: () => undefined,
  trustOption: 'trustProxy',
  setRecord(request, record) {
    request.rateLimit = record
  },
  headerNames: (reply) => Object.keys(reply.getHeaders()),
  getHeader: (reply, name) => headerText(reply.getHeader(name)),
  // A call for each of the four fields of the default style: V8 learns by the call which name it sets, which saves a tenth
  // of what a limiter adds (bench/http.js).
  setHeaders(reply, names, values) {
    if (reply.raw.headersSent) return
    const lower = lowerCase(names)
    if (values[0]) reply.header(lower[0]!, values[0])
    if (values[1]) reply.header(lower[1]!, values[1])
    if (values[2]) reply.header(lower[2]!, values[2])
    if (values[3]) reply.header(lower[3]!, values[3])
    for (let i = 4; i < lower.length; i++) if (values[i]) reply.header(lower[i]!, values[i])
  },
  // Middleware may have set it on the response of Node.
  removeHeader(reply, name) {
    reply.removeHeader(name)
    if (!reply.raw.headersSent) reply.raw.removeHeader(name)
  },
  denialForm: 'json',
  // Hijacked, too.
  hasAnswered: (reply) => reply.sent,
  isOnWire: (reply) => reply.raw.headersSent,
  status: (reply) => reply.statusCode,
  sentStatus: ({ raw }) => sentStatus(raw),
  setStatus: setDefaultStatus,
  send: (reply, { contentType, body }) =>
    void reply.header('content-type', contentType).send(exactly(contentType, body)),
  sendValue: (reply, value) => void reply.send(value),
  watchAnswer,
  cutShort({ raw }) {
    raw.on('error', () => {})
    raw.end()
  },
  isClosed: ({ raw }) => isResponseOver(raw) || isGone(raw),
  onEnd: ({ raw }, ended) => onResponseOver(raw, (isSent) => ended(isSent && isWhole(raw)))
}

/** What answers, though `reply.sent` is false while async hooks run, or a file is looked for. */
const answers: Answering = {
  send: asGiven,
  sendFile: uncached,
  download: uncached,
  view: asGiven,
  // By the status that was set last, if any was: that of a denial is none to redirect by.
  redirect: ([url, status = 302]) => [url, status]
}

/**
 * A reply is awaited until it is sent, so an async function that returns one without sending it would never end: as long as
 * somebody may begin to answer it is none of the things that are awaited.
 */
function watchAnswer(reply: FastifyReply): AnswerWatch {
  const watch = watchCalls(reply, answers)
  Object.defineProperty(reply, 'then', { value: undefined, configurable: true })
  return {
    hasBegun: () => watch.hasBegun(),
    stop() {
      Reflect.deleteProperty(reply, 'then')
      watch.stop()
    }
  }
}

/** The options of a file that keep its own Cache-Control out: a denial has one. */
function uncached(args: readonly unknown[]): readonly unknown[] {
  const last = args.at(-1)
  const hasOptions = typeof last === 'object' && last !== null
  return [...(hasOptions ? args.slice(0, -1) : args), { ...(hasOptions ? last : {}), cacheControl: false }]
}

function headerText(value: number | string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
