import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Host } from '../../http/host.js'
import { trustOf } from './trust.js'

/** What the response of an HTTP/2 request has besides. */
interface Http2Part {
  readonly stream?: { readonly rstCode?: number; readonly destroyed: boolean } | undefined
}

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
  // Fastify appends a charset to the media type of a text, and problem details have none (RFC 9457 §3): so those go as
  // bytes; a text is written to the socket together with the headers (bench/http.js).
  send: (reply, { contentType, body }) =>
    void reply
      .header('content-type', contentType)
      .send(contentType.includes('charset') ? body : Buffer.from(body)),
  sendValue: (reply, value) => void reply.send(value),
  cutShort({ raw }) {
    raw.on('error', () => {})
    raw.end()
  },
  onFinish({ raw }, finished) {
    raw.once('finish', () => {
      // On HTTP/2 `finish` also comes where the client resets the stream before anything was sent.
      const { stream } = raw as Http2Part
      if (raw.writableEnded && !stream?.rstCode) finished(raw.statusCode)
    })
  },
  isClosed: ({ raw }) => raw.closed || raw.destroyed || (raw as Http2Part).stream?.destroyed === true,
  onClose: (reply, closed) => void reply.raw.once('close', closed)
}

/** True for Fastify's reply, among the response objects of all frameworks. */
export function isReply(response: object): response is FastifyReply {
  // Its own property first: of Express's response all prototypes would be searched for the other, each time.
  return Object.hasOwn(response, 'raw') && 'hijack' in response
}

/** Lists of names in lower case, by the lists. */
const lowerCased = new WeakMap<readonly string[], readonly string[]>()
let lastNames: readonly string[] = []
let lastLower: readonly string[] = []

/**
 * Fastify puts each name in lower case whenever it is set, which costs as much as all else that a limiter does
 * (bench/http.js). Gates give the same few lists again and again.
 */
function lowerCase(names: readonly string[]): readonly string[] {
  if (names === lastNames) return lastLower
  lastLower = lowerCased.get(names) ?? names.map((name) => name.toLowerCase())
  lowerCased.set(names, lastLower)
  lastNames = names
  return lastLower
}

function headerText(value: number | string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
