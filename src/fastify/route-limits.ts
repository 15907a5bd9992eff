import type { RouteOptions } from 'fastify'
import { HeadgateError } from '../core/errors.js'
import { addRouteHook, type Claim, hasRouteHook } from './claims.js'
import type { Placed } from './limit-hook.js'
import { isSameLimit, limitOf } from './said.js'
import type { LimitScope } from './scope.js'
import { counterpartOf, type Declared, innermost, methodsOf, shownConstraints } from './server.js'

/**
 * Reads a route's own limit, with the settings of the innermost registration around it. It may be read again where the
 * route or the settings have changed.
 * @throws HeadgateError for what can be no limit, and for one that comes too late
 */
export function claimRoute(scope: LimitScope, declared: Declared): void {
  const { claim: claimed, route } = declared
  const limit = limitWithin(scope, declared)
  const partner = counterpartOf(scope.record, declared)
  const isGet = methodsOf(route).includes('GET')
  if (claimed === undefined) {
    if (limit !== undefined) throw tooLate(route)
  } else if (!isGet && partner !== undefined && countsWith(limit, declared, partner)) {
    const { scope: reader, placed } = partner.claim ?? {}
    settle(scope, declared, reader === undefined ? undefined : placed)
  } else if (claimed.said !== limit || claimed.settings !== scope.settings || claimed.scope !== scope) {
    settle(scope, declared, placedFor(scope, claimed, limit, route))
  }
  if (claimed !== undefined) Object.assign(claimed, { said: limit, settings: scope.settings })
  if (isGet && partner !== undefined) partner.by[innermost]?.claimRoute(partner)
}

function limitWithin({ policies }: LimitScope, { route }: Declared): unknown {
  return limitOf(route, (name) => policies.has(name))
}

/**
 * True for a route of HEAD that counts with its route of GET: it says nothing, or the same, or it is the one that Fastify
 * has made of that, before another hook changed it.
 */
function countsWith(limit: unknown, head: Declared, get: Declared): boolean {
  if (
    limit === undefined ||
    isSameLimit(
      limit,
      limitOf(get.route, () => true)
    )
  )
    return true
  return limit === head.first && isSameLimit(head.first, get.first)
}

/** null where the route is not to be limited; undefined where it says nothing. */
function placedFor(
  scope: LimitScope,
  claimed: Claim,
  limit: unknown,
  route: RouteOptions
): Placed | null | undefined {
  if (limit === undefined) return undefined
  if (limit === false) return null
  // A registration around this one may still come, and know the name.
  if (typeof limit === 'string' && scope.isOpen && !scope.policies.has(limit)) return undefined
  if (typeof limit === 'string') return scope.policies.of(limit)
  const place = `${methodsOf(route).join()} ${route.url}${shownConstraints(route)}`
  claimed.owner ??= { mayShare: false, place, label: `the \`limit\` of ${place}` }
  return scope.placed(limit, claimed.owner)
}

/**
 * Writes down what limits a route. A limit that needs the user, or anything that is known late, has the last word among
 * the route's own hooks.
 */
function settle(scope: LimitScope, { claim, route }: Declared, placed: Placed | null | undefined): void {
  const claimed = claim!
  claimed.scope = placed === undefined ? undefined : scope
  claimed.placed = placed ?? null
  claimed.hook = null
  if (placed === undefined) return
  scope.record.hasClaims = true
  if (placed === null) return
  const { gate, hook } = placed
  if (!gate.usesUser && hook !== 'preHandler' && hook === scope.hook) return
  claimed.hook = hook
  if (hasRouteHook(route, hook, claimed)) return
  // Fastify has read the hooks of its routes.
  if (scope.record.isStarted) throw tooLate(route)
  addRouteHook(route, hook, claimed)
}

/** The error for what a route cannot be given any more. */
export function tooLate({ method, url }: RouteOptions): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MISUSE',
    `The \`limit\` of the route ${method} ${url}, or its hooks, were changed after the route had been made: change them in an \`onRoute\` hook.`
  )
}
