import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { AsyncStore } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import type { Store } from '../core/store.js'
import { applicationOf } from '../hosts/host-of.js'
import type { AsyncKeyedLimiter, KeyedLimiter, KeyedLimiterOn } from '../http/keyed-limiter.js'
import { gatePlan } from '../http/options.js'
import { TurnWatch } from '../http/turn-watch.js'
import { ContextGate, isHttp } from './context-gate.js'
import { type HandlerLimits, limitsToken } from './handler-limits.js'
import { guardsOf } from './internals.js'
import { messageHost, trustsNobody } from './message.js'
import type { GuardLimit, NestRequest } from './options.js'

/** Marks our guard. */
export const guardMark = Symbol.for('headgate.nest.guard/1')

/**
 * Limits handlers by `@Limit` and by the module's own limit. The module calls it for every route and resolver; put it
 * on a target with `@UseGuards(RateLimitGuard)` where the module is not `global`, or where messages of a gateway are
 * to be limited without a `@Limit` of their own.
 */
export class RateLimitGuard implements CanActivate {
  /** @internal Tells it from other guards, also where another copy of this package has put it on a target. */
  static readonly [guardMark] = true
  readonly #limits: HandlerLimits

  /** @internal */
  constructor(limits: HandlerLimits | undefined) {
    if (limits === undefined)
      throw new HeadgateError(
        'HEADGATE_MISUSE',
        "`@Limit` and RateLimitGuard need the module: import RateLimitModule.forRoot({ … }) in the application's root module."
      )
    this.#limits = limits
  }

  /** @throws RateLimitException for a denied request; WsException or RpcException for a message */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { override } = this.#limits
    // Whatever it returns, an Observable among them, is for Nest to wait for.
    if (override !== null && override !== this) return override.canActivate(context) as boolean
    return admit(context, this.#limits)
  }
}

Injectable()(RateLimitGuard)
Inject(limitsToken)(RateLimitGuard, undefined, 0)
Optional()(RateLimitGuard, undefined, 0)

/** The guard of all routes and resolvers, and of messages that `@Limit` speaks of. */
export function globalGuard(limits: HandlerLimits): CanActivate {
  return {
    canActivate(context) {
      // Other kinds of contexts are limited where a guard of ours stands: in its place among theirs.
      if (!isRequest(context)) return true
      return limits.override === null ? admit(context, limits) : limits.override.canActivate(context)
    }
  }
}

function admit(context: ExecutionContext, limits: HandlerLimits): boolean | Promise<boolean> {
  const limit = limits.of(context.getClass(), context.getHandler() as never)
  if (limit === null) return true
  if (limits.isLate(limit, context)) return true
  return limit.gate.admit(context)
}

/** A guard with a limit of its own. */
export interface LimitGuard<L = KeyedLimiter | AsyncKeyedLimiter> extends CanActivate {
  /** The limiter behind it, to look up, reset or block by hand. */
  readonly limiter: L
}

/**
 * A guard with a limit of its own, for `@UseGuards` or `app.useGlobalGuards`, with `RateLimitModule` or without. Make
 * it once; where it is used several times it shares its counters, and a request that meets it twice is counted once.
 * Messages of gateways and microservices are limited where `@UseGuards` names it on the handler or its class.
 * @example
 * @Post('login') @UseGuards(limitGuard({ name: 'login', limit: 5, window: '15m', key: 'ip' })) login() {}
 * @throws HeadgateError that names the option, the value and the fix
 */
export function limitGuard<Req = NestRequest, Res = unknown, S extends Store | AsyncStore = Store>(
  options: GuardLimit<Req, Res> & { readonly store?: S | undefined }
): LimitGuard<KeyedLimiterOn<S>> {
  const gate = new ContextGate(gatePlan(options, 'limitGuard') as never, messageHost(trustsNobody))
  const watch = new TurnWatch()
  const guard: LimitGuard<KeyedLimiterOn<S>> = {
    limiter: gate.limiter as KeyedLimiterOn<S>,
    canActivate(context) {
      // As with the module: queues and the like have clients that nobody can tell apart.
      if (!isRequest(context) && !standsOn(guard, context)) return true
      if (isHttp(context)) watch.see(context.getArgByIndex<object>(0), applicationOf)
      else watch.see()
      return gate.admit(context)
    }
  }
  return guard
}

const reflector = new Reflector()

/** True where `@UseGuards` has put a guard on the handler or its class. */
function standsOn(guard: CanActivate, context: ExecutionContext): boolean {
  return [context.getHandler(), context.getClass()].some(
    (target) => typeof target === 'function' && guardsOf(reflector, target).includes(guard)
  )
}

function isRequest(context: ExecutionContext): boolean {
  return context.getType<string>() === 'graphql' || isHttp(context)
}
