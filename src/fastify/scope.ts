import type { RouteOptions } from 'fastify'
import { badOption, checkNames, inheritable, pick } from '../core/options.js'
import { saysLimit } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import { Gate } from '../http/gate.js'
import { NamedPolicies } from '../http/named-policies.js'
import { gatePlan } from '../http/options.js'
import { warnOfLateLimiter } from '../http/warnings.js'
import {
  type FastifyRouteLimit,
  hookOptions,
  inheritedOptions,
  type LimitHook,
  type LimitHookFunction,
  pluginOptions,
  type RateLimitPluginOptions,
  type ResolvedLimit,
  type RouteLimit
} from './options.js'
import {
  addRouteHook,
  type Claim,
  claim,
  claimOf,
  type FastifyGate,
  hasClaims,
  limitHook,
  limitOf,
  type Placed
} from './route-limits.js'

/** One registration of the plugin: its default gate, its policies, and the gates of its routes. */
export class LimitScope {
  /** The hook in which it looks at every request. */
  readonly hook: LimitHook
  /** True once the server takes requests: then it is too late to set routes up. */
  isStarted = false
  readonly #settings: object
  readonly #gate: FastifyGate | null
  readonly #policies: NamedPolicies<FastifyRouteLimit, Placed>
  /** Gates of GET routes, for the HEAD routes that Fastify makes of them. */
  readonly #ofGet = new Map<string, { limit: unknown; placed: Placed }>()

  constructor(options: RateLimitPluginOptions) {
    checkNames(options, pluginOptions, 'the plugin')
    this.#settings = pick(options, inheritedOptions)
    const { policies = {}, ...own } = options
    const placed = saysLimit(own) ? place(own as ResolvedLimit, 'the plugin') : null
    this.#gate = placed?.gate ?? null
    this.hook = placed?.hook ?? readHook(options.hook) ?? 'onRequest'
    this.#policies = new NamedPolicies(policies, { by: '`limit`', owner: 'the plugin' }, (_name, policy) =>
      this.#place(policy, { mayShare: true })
    )
  }

  /** The hook that limits every request of the scope, by its route's own gate or by the scope's. */
  readonly handler = limitHook((request) =>
    hasClaims ? this.#gateFor(request.routeOptions.config as { [claim]?: Claim } | undefined) : this.#gate
  )

  /** Reads a route's own `limit`. The innermost scope around a route reads it last. */
  claimRoute(route: RouteOptions): void {
    const limit = limitOf(route)
    if (limit === undefined) return
    const claimed = claimOf(route)
    claimed.scope = this
    claimed.placed = limit === false ? null : this.#placedFor(limit as Exclude<RouteLimit, false>, route)
    if (claimed.placed !== null && claimed.placed.hook !== this.hook)
      addRouteHook(route, claimed.placed.hook, claimed)
  }

  /** A hook for one route. */
  hookFor(limit: FastifyRouteLimit | string): LimitHookFunction {
    if (this.isStarted) warnOfLateLimiter()
    const { gate } = typeof limit === 'string' ? this.#policies.of(limit) : this.#place(limit)
    return Object.assign(
      limitHook(() => gate),
      { limiter: gate.limiter }
    )
  }

  #gateFor(config: { [claim]?: Claim } | undefined): FastifyGate | null {
    const claimed = config?.[claim]
    if (claimed === undefined) return this.#gate
    if (claimed.placed === null) return claimed.scope === undefined ? this.#gate : null
    if (claimed.scope !== this) return this.#gate
    return claimed.placed.hook === this.hook ? claimed.placed.gate : null
  }

  #placedFor(limit: Exclude<RouteLimit, false>, route: RouteOptions): Placed {
    if (typeof limit === 'string') return this.#policies.of(limit)
    const methods = ([] as string[]).concat(route.method)
    const path = route.url.replace(/\/$/, '')
    const known = this.#ofGet.get(path)
    if (methods.length === 1 && methods[0] === 'HEAD' && known?.limit === limit) return known.placed
    const placed = this.#place(limit, { mayShare: false, place: `${methods.join()} ${route.url}` })
    if (methods.includes('GET')) this.#ofGet.set(path, { limit, placed })
    return placed
  }

  /** A gate with the plugin's settings where the route's own options leave them out. */
  #place(limit: FastifyRouteLimit, owner: Owner = { mayShare: false }): Placed {
    if (typeof limit !== 'object' || limit === null)
      throw badOption(
        'limit',
        limit,
        "give a policy such as { limit: 5, window: '1m' }, a policy's name, or false"
      )
    const inherited = inheritable(this.#settings, limit, inheritedOptions)
    return place({ ...inherited, ...limit } as ResolvedLimit, "a route's `limit`", owner)
  }
}

/** Routes have counters of their own, also where a store and a name are given. */
function place(
  { hook, ...options }: ResolvedLimit & { hook?: unknown },
  where: string,
  owner?: Owner
): Placed {
  const gate: FastifyGate = new Gate(gatePlan(options as ResolvedLimit, where, owner))
  return { gate, hook: readHook(hook) ?? (gate.usesUser ? 'preHandler' : 'onRequest') }
}

const readHook = (hook: unknown) => hookOptions.hook.read('hook', hook)
