import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { HeadgateError } from '../core/errors.js'
import { warnOfTrustSetting } from '../hosts/fastify/trust-warning.js'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../http/keyed-limiter.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'
import type {
  FastifyRouteLimit,
  LimitHookFunction,
  LimitTarget,
  PolicyName,
  RateLimitPluginOptions,
  RouteLimit
} from './options.js'
import { readyRoutes } from './ready.js'
import { LimitScope } from './scope.js'
import { innermost, type Scoped, serverRecord } from './server.js'
import { limiterOf } from './targets.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the latest limiter decided about this request. */
    rateLimit: RequestRateLimit | null
  }
  interface FastifyInstance {
    /** A hook that limits one route: `{ preHandler: app.limit({ limit: 5, window: '1m' }) }`. */
    limit(options: FastifyRouteLimit | PolicyName): LimitHookFunction
    /**
     * The limiter, by hand, of the plugin's own limit (`'default'`), of a policy, or of a route:
     * `app.limiterOf({ method: 'GET', url: '/export' }).reset({ user: 'ada' })`.
     */
    limiterOf(target: LimitTarget): KeyedLimiter | AsyncKeyedLimiter
  }
  interface FastifyContextConfig {
    /** As the route option `limit`; also seen on routes that are declared before the plugin has loaded. */
    limit?: RouteLimit | undefined
  }
  interface RouteShorthandOptions {
    /** This route's own limit, `false` for none, or the name of one of the plugin's policies. */
    limit?: RouteLimit | undefined
  }
  interface RouteOptions {
    limit?: RouteLimit | undefined
  }
}

async function plugin(app: Scoped, options: RateLimitPluginOptions): Promise<void> {
  const record = serverRecord(app)
  const scope = new LimitScope(app, record, options)
  warnOfTrustSetting(app)
  if (app.limit !== undefined && app[innermost] === undefined)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'The server is already decorated with a `limit` that is not headgate’s.'
    )
  Object.assign(app, {
    limit: (own: FastifyRouteLimit | PolicyName) => scope.hookFor(own),
    limiterOf: (target: LimitTarget) => limiterOf(scope, target)
  })
  if (!app.hasRequestDecorator('rateLimit')) app.decorateRequest('rateLimit', null)
  scope.enter()
  app.addHook('onReady', async () => readyRoutes(record))
  app.addHook('preClose', async () => {
    for (const gate of record.gates) gate.close()
  })
}

/**
 * The plugin. It limits every route of the scope that it is registered in, and 404s there, whenever those routes
 * were declared.
 * @example
 * await app.register(rateLimit, { limit: 100, window: '1m' })
 * app.get('/export', { limit: { limit: 5, window: '1m', key: 'user' } }, handler)
 */
export const rateLimit: FastifyPluginAsync<RateLimitPluginOptions> = fp(plugin, {
  fastify: '5.x',
  name: 'headgate'
})

export default rateLimit
export * from '../http/public.js'
export * from '../shed/public.js'
export type {
  FastifyRouteLimit,
  LimitHook,
  LimitHookFunction,
  LimitPolicies,
  LimitTarget,
  PolicyName,
  RateLimitPluginOptions,
  RouteLimit,
  RouteName
} from './options.js'
export { type FastifyRouteShed, type ShedPluginOptions, type StatusRoute, shed } from './shed.js'
