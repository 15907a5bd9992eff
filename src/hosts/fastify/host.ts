import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Host } from '../../http/host.js'
import { exactly, isGone, isWhole, lowerCase, trustOf } from './internals.js'

/** Fastify 5. Headers go through the reply, so that later hooks see them. */
export const fastifyHost: Host<FastifyRequest, FastifyReply> = {
  method: (request) => request.raw.method ?? '',
  header({ headers }, name) {
    return Object.hasOwn(headers, name) ? headers[name] : undefined
  },
  socket: (request) => request.raw.socket,
  trust: trustOf,
  trustSetting: () => undefined,
  trustOption: 'trustProxy',
  recordOf: (request) => request.rateLimit,
  setRecord(request, record) {
    request.rateLimit = record
  },
  getHeader: (reply, name) => headerText(reply.getHeader(name)),
  setHeaders(reply, names, values) {
    if (reply.raw.headersSent) return
    const lower = lowerCase(names)
    for (let i = 0; i < lower.length; i++) if (values[i] !== '') reply.header(lower[i]!, values[i]!)
  },
  removeHeader: (reply, name) => void reply.removeHeader(name),
  // Hijacked, too.
  hasAnswered: (reply) => reply.sent,
  isOnWire: (reply) => reply.raw.headersSent,
  status: (reply) => reply.statusCode,
  setStatus: (reply, status) => void reply.code(status),
  send: (reply, { contentType, body }) =>
    void reply.header('content-type', contentType).send(exactly(contentType, body)),
  sendValue: (reply, value) => void reply.send(value),
  cutShort({ raw }) {
    raw.on('error', () => {})
    raw.end()
  },
  onFinish({ raw }, finished) {
    raw.once('finish', () => {
      if (isWhole(raw)) finished(raw.statusCode)
    })
  },
  isClosed: ({ raw }) => isGone(raw),
  onClose: (reply, closed) => void reply.raw.once('close', closed)
}

function headerText(value: number | string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
