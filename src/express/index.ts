import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import type { AsyncStore } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import type { Store } from '../core/store.js'
import { type ExpressRequest, expressHost } from '../hosts/express/host.js'
import { applicationOf } from '../hosts/host-of.js'
import { limiterBehind } from '../http/by-hand.js'
import { type Next, takeThrough } from '../http/deliver.js'
import { Gate } from '../http/gate.js'
import type { AsyncKeyedLimiter, KeyedLimiter, KeyedLimiterOn } from '../http/keyed-limiter.js'
import { type GateOptions, gatePlan } from '../http/options.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'
import { TurnWatch } from '../http/turn-watch.js'

declare global {
  namespace Express {
    interface Request {
      /** What the latest limiter decided about this request. */
      rateLimit?: RequestRateLimit
    }
  }
}

/** Options of `rateLimit`; functions get Express's own request and response. */
export type RateLimitOptions<Plan extends string = string> = GateOptions<Request, Response, Plan>

/** A middleware for an app, a router or a route, of Express 4 and 5. */
export interface RateLimitMiddleware<L = KeyedLimiter | AsyncKeyedLimiter> {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void
  /** The limiter behind it, to look up, reset or block by hand. */
  readonly limiter: L
}

/**
 * A middleware that limits. Make it once, where the app is set up; used in several places it shares its counters,
 * and a request that meets it twice is counted once.
 * @example
 * app.use(rateLimit({ limit: 100, window: '1m' }))
 * @throws HeadgateError that names the option, the value and the fix
 */
export function rateLimit<S extends Store | AsyncStore = Store, Plan extends string = string>(
  options: RateLimitOptions<Plan> & { readonly store?: S | undefined }
): RateLimitMiddleware<KeyedLimiterOn<S>> {
  // biome-ignore lint/complexity/noArguments: what Express passes to a middleware shows that the factory was not called
  if (arguments.length > 1)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      "`rateLimit` itself was used as a middleware: call it, app.use(rateLimit({ limit: 100, window: '1m' }))."
    )
  const plan = gatePlan(options, 'rateLimit') as never
  const gate = new Gate<ExpressRequest, ServerResponse>(plan)
  const watch = new TurnWatch()
  const middleware = (
    request: IncomingMessage,
    response: ServerResponse,
    next: (error?: unknown) => void
  ) => {
    watch.see(request as ExpressRequest, applicationOf)
    takeThrough(gate, expressHost, request as ExpressRequest, response, next as Next)
  }
  const limiter = limiterBehind(
    () => gate,
    () => expressHost
  ) as KeyedLimiterOn<S>
  return Object.assign(middleware, { limiter })
}

export default rateLimit
export * from '../http/public.js'
export * from '../shed/public.js'
export { type ShedMiddleware, shed } from './shed.js'
