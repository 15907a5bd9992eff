import type { Duration } from '../core/duration.js'
import type { StrategyName } from '../core/policy-options.js'
import type { Strategy } from '../core/strategy.js'
import { limiterBehind } from '../http/by-hand.js'
import { type Next, takeThrough } from '../http/deliver.js'
import { Gate } from '../http/gate.js'
import type { KeySpec } from '../http/key.js'
import type { KeyedLimiter } from '../http/keyed-limiter.js'
import type { LimitRules } from '../http/limits.js'
import { type GateOptions, type GatePlan, gatePlan } from '../http/options.js'
import { TurnWatch } from '../http/turn-watch.js'
import { applicationOf, hostOf, hostOfRequest } from './host-of.js'

/** The options of one policy, or `limits` for several, but for the key. */
export type GuardRules<Req> = LimitRules<Req>

/** A handler that is a middleware to Express and a hook to Fastify. */
export interface GuardHandler {
  (request: object, response: object, next: (error?: Error) => void): void
  /** The limiter behind it, to look up, reset or block by hand. */
  readonly limiter: KeyedLimiter
}

/**
 * Limits in one line, for a route of either framework.
 * @example
 * app.post('/login', guard.limit('ip', 5, '15m', 'sliding-log'), login)                  // Express
 * app.post('/login', { onRequest: guard.limit('ip', 5, '15m', 'sliding-log') }, login)   // Fastify
 */
export const guard = {
  limit
}

/**
 * @param key who is charged
 * @param limit units per window
 * @param window its length, ms or text
 * @param strategy `'fixed-window'` if left out
 * @throws HeadgateError that names the option, the value and the fix
 */
function limit<Req extends object>(
  key: KeySpec<Req>,
  limit: number,
  window: Duration,
  strategy?: StrategyName | Strategy
): GuardHandler
/**
 * @param key who is charged
 * @param rules what the limit is, such as `{ concurrency: 10 }`
 */
function limit<Req extends object>(key: KeySpec<Req>, rules: GuardRules<Req>): GuardHandler
function limit<Req extends object>(
  key: KeySpec<Req>,
  limit: number | GuardRules<Req>,
  window?: Duration,
  strategy: StrategyName | Strategy = 'fixed-window'
): GuardHandler {
  const rules = typeof limit === 'object' && limit !== null ? limit : { limit, window, strategy }
  const options = { ...rules, key } as GateOptions<Req, object>
  const gate = new Gate(gatePlan(options, 'guard.limit') as GatePlan<object, object>)
  const watch = new TurnWatch()
  const handler = (request: object, response: object, next: Next) => {
    watch.see(request, applicationOf)
    takeThrough(gate, hostOf(response), request, response, next)
  }
  return Object.assign(handler, { limiter: limiterBehind(() => gate, hostOfRequest) as KeyedLimiter })
}
