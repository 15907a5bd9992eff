import { HeadgateError } from '../core/errors.js'
import { fastifyHost } from '../hosts/fastify/host.js'
import { limiterBehind } from '../http/by-hand.js'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../http/keyed-limiter.js'
import type { FastifyGate } from './limit-hook.js'
import type { LimitTarget, RouteName } from './options.js'
import type { LimitScope } from './scope.js'
import { innermost, methodsOf } from './server.js'

/** The limiter of something that is limited, by hand. What it is, is found when the limiter is used. */
export function limiterOf(scope: LimitScope, target: LimitTarget): KeyedLimiter | AsyncKeyedLimiter {
  return limiterBehind(
    () => gateOf(scope, target),
    () => fastifyHost
  )
}

function gateOf(scope: LimitScope, target: LimitTarget): FastifyGate {
  if (typeof target === 'object' && target !== null) return gateOfRoute(scope, target)
  if (target === 'default' && !scope.policies.has(target)) {
    if (scope.gate !== null) return scope.gate
    throw misuse('The plugin has no limit of its own: name one of its policies, or a route.')
  }
  return scope.policies.of(target).gate
}

function gateOfRoute({ record }: LimitScope, { method, url }: RouteName): FastifyGate {
  const name = `${String(method).toUpperCase()} ${url}`
  const found = [...record.routes.values()].filter(({ route }) =>
    methodsOf(route).some((one) => `${one.toUpperCase()} ${route.url}` === name)
  )
  if (found.length === 0) throw misuse(`There is no route ${name}.`)
  const gates = new Set(
    found.map(({ claim, by }) =>
      claim?.scope === undefined ? (by[innermost]?.gate ?? null) : (claim.placed?.gate ?? null)
    )
  )
  const [gate, another] = gates
  if (another !== undefined) throw misuse(`There are several routes ${name}, which are not limited alike.`)
  if (gate === null || gate === undefined) throw misuse(`The route ${name} is not limited.`)
  return gate
}

function misuse(message: string): HeadgateError {
  return new HeadgateError('HEADGATE_MISUSE', message)
}
