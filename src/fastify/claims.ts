import type { RouteOptions } from 'fastify'
import type { Owner } from '../core/store.js'
import { limitHook, type Placed } from './limit-hook.js'
import type { LimitHook } from './options.js'

/** What became of a route's own limit. It stands in the route's config, where requests find it. */
export interface Claim {
  /** The `limit` that was read. */
  said: unknown
  /** The settings that it was read with. */
  settings: object | undefined
  /** The innermost registration of the plugin around the route; undefined where the route says nothing. */
  scope: object | undefined
  /** null where the route is not to be limited. */
  placed: Placed | null
  /** The hook of the route's own that runs the gate; null where the registration's does. */
  hook: LimitHook | null
  /** Whose the counters are, however often the limit is read. */
  owner: Owner | undefined
}

/** Marks the claim in a route's config, and the hooks that are run for one. */
export const claim = Symbol.for('headgate.fastify.claim/1')

interface Claimed {
  readonly [claim]?: Claim
}

/** The claim of the route that a request came to. */
export function claimIn(config: unknown): Claim | undefined {
  return (config as Claimed | undefined)?.[claim]
}

/** Gives a route a claim, before Fastify copies its config. One in the config is another route's. */
export function giveClaim(route: RouteOptions): Claim {
  const made: Claim = {
    said: undefined,
    settings: undefined,
    scope: undefined,
    placed: null,
    hook: null,
    owner: undefined
  }
  route.config = Object.assign({}, route.config, { [claim]: made })
  return made
}

/** Has the route run its gate in a hook of its own, after those that it has. */
export function addRouteHook(route: RouteOptions, hook: LimitHook, claimed: Claim): void {
  // What was made of another route's options has its hook as well.
  const own = hooksOf(route, hook).filter((one) => (one as Claimed)[claim] === undefined)
  const run = limitHook(() => (claimed.hook === hook ? (claimed.placed?.gate ?? null) : null))
  Object.assign(route, { [hook]: [...own, Object.assign(run, { [claim]: claimed })] })
}

/** True where the route still has that hook. */
export function hasRouteHook(route: RouteOptions, hook: LimitHook, claimed: Claim): boolean {
  return hooksOf(route, hook).some((one) => (one as Claimed)[claim] === claimed)
}

function hooksOf(route: RouteOptions, hook: LimitHook): readonly unknown[] {
  const own = route[hook] as unknown
  return own === undefined ? [] : Array.isArray(own) ? own : [own]
}
