import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import { HeadgateError } from '../core/errors.js'
import { type ExpressRequest, expressHost } from '../hosts/express/host.js'
import { type Next, takeThrough } from '../http/deliver.js'
import { asError } from '../http/promise.js'
import { ShedGate } from '../shed/gate.js'
import { type DefaultPriority, type ShedOptions, shedPlan } from '../shed/options.js'
import type { ShedState } from '../shed/state.js'
import type { ShedStatus } from '../shed/status.js'

/** A middleware for an app of Express 4 and 5, to stand before all others. */
export interface ShedMiddleware {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void
  /** What is shed, and why: for readiness checks. */
  readonly state: ShedState
  /** Asks the health check, and gives what a status route is to answer. */
  status(): Promise<ShedStatus>
  /** A handler of a status route: 200, or 503 where the worker is not healthy. It is to stand before the middleware. */
  readonly statusHandler: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: (error?: unknown) => void
  ) => void
  /** Stops its timers. They do not keep the process alive. */
  close(): void
}

/**
 * A middleware that sheds load by priority, for lack of room among the requests in flight or for the health of this worker.
 * Make it once, where the app is set up, and use it before all that costs anything.
 * @example
 * app.use(shed({ concurrency: 200, reserve: { critical: 0.2 }, priority: (req) => req.path === '/pay' ? 'critical' : 'normal' }))
 * @throws HeadgateError that names the option, the value and the fix
 */
export function shed<const P extends string = DefaultPriority>(
  options: ShedOptions<Request, Response, P>
): ShedMiddleware {
  // biome-ignore lint/complexity/noArguments: what Express passes to a middleware shows that the factory was not called
  if (arguments.length > 1)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      '`shed` itself was used as a middleware: call it, app.use(shed({ concurrency: 200 })).'
    )
  const gate = new ShedGate<ExpressRequest, ServerResponse>(shedPlan(options))
  gate.begin()
  const middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) =>
    takeThrough(gate, expressHost, request as ExpressRequest, response, next as Next)
  const more = {
    status: () => gate.status(),
    statusHandler: (
      _request: IncomingMessage,
      response: ServerResponse,
      next?: (error?: unknown) => void
    ) => {
      answerStatus(gate, response).catch((error: unknown) =>
        next === undefined ? failStatus(response) : next(asError(error))
      )
    },
    close: () => gate.close()
  }
  return Object.defineProperty(Object.assign(middleware, more), 'state', {
    get: () => gate.state
  }) as unknown as ShedMiddleware
}

async function answerStatus(
  gate: ShedGate<ExpressRequest, ServerResponse>,
  response: ServerResponse
): Promise<void> {
  const { statusCode, headers, body } = await gate.status()
  if (expressHost.hasAnswered(response)) return
  response.writeHead(statusCode, { ...headers, 'Content-Type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

/** Where there is no handler of errors, as in a server of `node:http`. */
function failStatus(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
}
