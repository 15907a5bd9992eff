import type { Host } from '../http/host.js'

/**
 * What a host does where a call has no response of its own: an exception tells of a denial, and as there is no status to
 * go by, what was admitted stays counted.
 */
export const withoutResponse = {
  hasManyCalls: true,
  headerNames: () => [],
  getHeader: () => undefined,
  setHeaders() {},
  removeHeader() {},
  hasAnswered: () => false,
  watchAnswer: () => null,
  isOnWire: () => false,
  status: () => 200,
  sentStatus: () => 200,
  setStatus() {},
  send() {},
  sendValue() {},
  cutShort() {},
  isClosed: () => false,
  onEnd() {},
  exchangeOf: () => null
} satisfies Partial<Host<unknown, unknown>>
