import type { RouteOptions } from 'fastify'
import { HeadgateError } from '../core/errors.js'
import { hasRouteHook } from './claims.js'
import { tooLate } from './route-limits.js'
import { limitOf, looksLikeForeignLimit, looksLikeLimit } from './said.js'
import { type Declared, innermost, type ServerRecord } from './server.js'

/**
 * Looks at the routes of a server once all plugins are loaded: what a route has by now is what holds.
 * @throws HeadgateError for a limit that would not hold
 */
export function readyRoutes(record: ServerRecord): void {
  if (record.isStarted) return
  record.isStarted = true
  for (const declared of record.routes.values()) {
    const { by, claim, route } = declared
    const scope = by[innermost]
    if (scope === undefined) checkUnread(record, declared)
    else {
      scope.claimRoute(declared)
      if (claim?.scope !== undefined && claim.hook !== null && !hasRouteHook(route, claim.hook, claim))
        throw tooLate(route)
      checkForeign(declared)
    }
  }
}

/** Refuses a limit around which no plugin is registered. */
function checkUnread({ scopes }: ServerRecord, { route }: Declared): void {
  const limit = limitOf(route, () => true)
  const isText = typeof limit === 'string'
  // A text in a `config` that no plugin reads is somebody else's, unless it is known.
  const isMeant = isText
    ? route.limit !== undefined || scopes.some(({ policies }) => policies.has(limit))
    : limit !== false && looksLikeLimit(limit)
  if (isMeant)
    throw misuse(
      route,
      'has a `limit`, but no plugin is registered around it: register headgate/fastify in its scope.'
    )
}

/** Refuses a limit under a name that nothing reads, as long as no other limiter is there to read it. */
function checkForeign({ by, route }: Declared): void {
  if (by.hasDecorator('rateLimit')) return
  const config = route.config as Readonly<Record<string, unknown>> | undefined
  const said = { ...config, ...(route as object) } as Readonly<Record<string, unknown>>
  const limits = said.limits
  const name = looksLikeForeignLimit(said.rateLimit)
    ? 'rateLimit'
    : (Array.isArray(limits) ? limits.some(looksLikeLimit) : limits !== false && looksLikeLimit(limits)) &&
      'limits'
  if (name)
    throw misuse(
      route,
      `has \`${name}\`, which nothing reads: write \`limit: { limit: 5, window: '1m' }\`, or \`limit: false\`.`
    )
}

function misuse({ method, url }: RouteOptions, what: string): HeadgateError {
  return new HeadgateError('HEADGATE_MISUSE', `The route ${method} ${url} ${what}`)
}
