import type { ServerResponse } from 'node:http'

/** What is read of a response of Node's HTTP/1 or HTTP/2 once its head was sent. */
interface Sent {
  readonly _header?: unknown
  readonly stream?: { readonly sentHeaders?: Readonly<Record<string, unknown>> } | undefined
}

/**
 * The status that a response was sent with. A handler may set another one afterwards, by mistake or in an error handler,
 * which changes `statusCode` and nothing that the client sees.
 *
 * Relies on `_header` of Node's HTTP/1, the head as it was written, which begins with `HTTP/1.1` and the status. Since Node
 * 0.4. On HTTP/2 it is `sentHeaders`, which is documented.
 * Without it the status is the one that was set last.
 */
export function sentStatus(response: ServerResponse): number {
  const { _header: head, stream } = response as ServerResponse & Sent
  const status = typeof head === 'string' ? Number(head.slice(9, 12)) : stream?.sentHeaders?.[':status']
  return typeof status === 'number' && status >= 100 ? status : response.statusCode
}
