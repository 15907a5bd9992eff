import type { Port } from '../http/port.js'

/**
 * What a port does where a call has no answer of its own to write: an exception tells of the denial, and as there is no
 * status to go by, what was admitted stays counted.
 */
export const unanswered = {
  isSent: () => false,
  status: () => 200,
  setStatus() {},
  send() {},
  sendValue() {},
  cutShort() {},
  onFinish() {},
  isClosed: () => false,
  onClose() {}
} satisfies Partial<Port<unknown, unknown>>
