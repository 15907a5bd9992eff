/*
 * When a response of Node is over. Its own events do not tell where it was pipelined and its turn had not come when the
 * connection was closed, and where a handler has taken the connection from it.
 */

/** What waits for the end of a connection: one listener for all, as a client may have hundreds of requests on one. */
const slot = Symbol('headgate.connection')

interface Connection {
  readonly destroyed?: boolean
  once?(event: 'close', listener: () => void): unknown
  [slot]?: Set<Over>
}

/** Waits for the end of a response: true where it was sent. */
type Over = (isSent: boolean) => void

/**
 * What is used of a response of Node. Its request leads to its connection, but in HTTP/2, where streams end for themselves.
 */
export interface NodeResponse {
  readonly closed: boolean
  readonly destroyed: boolean
  readonly statusCode: number
  on(event: 'finish' | 'close', listener: () => void): unknown
}

/** What may be there besides. */
interface Led {
  readonly req?: { readonly socket?: unknown } | undefined
  readonly stream?: unknown
}

function connectionOf(response: NodeResponse): Connection | null {
  const { req, stream } = response as NodeResponse & Led
  return stream === undefined ? ((req?.socket as Connection | undefined) ?? null) : null
}

/** True once a response has ended or its client is gone. */
export function isResponseOver(response: NodeResponse): boolean {
  return response.closed || response.destroyed || connectionOf(response)?.destroyed === true
}

/**
 * Calls back when a response was sent (true), and when it ended otherwise or its client went away (false). It may call
 * several times: the first counts. After a 101 the connection is what counts.
 */
export function onResponseOver(response: NodeResponse, over: Over): void {
  const connection = connectionOf(response)
  const waiting = connection === null ? null : waitingOn(connection)
  const end = (isSent: boolean) => {
    if (waiting !== null) {
      if (response.statusCode === 101 && connection!.destroyed !== true) return
      waiting.delete(over)
    }
    over(isSent)
  }
  waiting?.add(over)
  // Not `once`, which takes longer than all else that is done for the end of a response (bench/http.js, in flight).
  response.on('finish', () => end(true))
  response.on('close', () => end(false))
}

function waitingOn(connection: Connection): Set<Over> | null {
  const known = connection[slot]
  if (known !== undefined) return known
  // Objects that stand for one, as in injected requests, may have no events.
  if (typeof connection.once !== 'function') return null
  const waiting = new Set<Over>()
  connection[slot] = waiting
  connection.once('close', () => {
    for (const over of waiting) over(false)
    waiting.clear()
  })
  return waiting
}
