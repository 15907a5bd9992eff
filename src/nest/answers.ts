import { type Denial, denialJson } from '../http/denial.js'
import type { Host } from '../http/host.js'
import type { Answer } from './exception.js'

/** What denied calls are to be answered, by their response, until the exception that carries it is made. */
const answers = new WeakMap<object, Answer>()

/** What stands for an answer that has been sent already. */
const sent: Answer = {
  status: 429,
  body: { error: 'Too Many Requests', message: 'Too many requests' },
  send() {}
}

/** The answer to a call that was denied. */
export function answerOf(response: object): Answer {
  return answers.get(response) ?? sent
}

/** A host that keeps what it should send, for an exception filter to send it if no other answers. */
export function deferred<Req, Res extends object>(host: Host<Req, Res>): Host<Req, Res> {
  const keep = (response: Res, status: number, body: unknown, send: () => void) => {
    // That of the body which the handler would have sent (`@Header`).
    if (host.getHeader(response, 'Content-Type') !== undefined) host.removeHeader(response, 'Content-Type')
    answers.set(response, {
      status,
      body,
      send() {
        if (!host.isSent(response)) send()
      }
    })
  }
  return {
    ...host,
    send: (response, body, denial) =>
      keep(response, denial.status, denialJson(denial), () => host.send(response, body, denial)),
    sendValue: (response, value, status) =>
      keep(response, status, value, () => host.sendValue(response, value, status))
  }
}

/**
 * What a host does where a call has no answer of its own to write: an exception tells of the denial, and as there is no
 * status to go by, what was admitted stays counted.
 */
export const unanswered = {
  isSent: () => false,
  status: () => 200,
  setStatus() {},
  send(response: object, _body: unknown, denial: Denial) {
    // Nest's drivers of Apollo put a code of their own on errors whose body has a status code.
    const { statusCode, ...body } = denialJson(denial)
    answers.set(response, { status: statusCode, body, send() {} })
  },
  sendValue() {},
  cutShort() {},
  onFinish() {},
  isClosed: () => false,
  onClose() {}
} satisfies Partial<Host<unknown, object>>
