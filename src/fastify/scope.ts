import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify'
import { HeadgateError } from '../core/errors.js'
import { badOption, checkNames, nearest } from '../core/options.js'
import { policyOptionNames } from '../core/policy.js'
import { Gate, type Next } from '../http/gate.js'
import { gatePlan, gateSettingNames, pick } from '../http/options.js'
import { warnOfLateLimiter } from '../http/warnings.js'
import type {
  FastifyRouteLimit,
  LimitHook,
  LimitHookFunction,
  RateLimitPluginOptions,
  ResolvedLimit,
  RouteLimit
} from './options.js'
import { fastifyPort } from './port.js'

type FastifyGate = Gate<FastifyRequest, FastifyReply>

/** Marks, in a route's config, what its own `limit` came to. */
const claim = Symbol('headgate.claim')

/** What a route said of its own limit: its gate, null for none, and the scope that read it. */
interface Claim {
  readonly scope: LimitScope
  readonly gate: FastifyGate | null
  /** True where the route runs the gate in a hook of its own. */
  readonly isHooked: boolean
}

interface ClaimedConfig {
  limit?: RouteLimit | undefined
  [claim]?: Claim
}

const hooks: readonly LimitHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

/** One registration of the plugin: its default gate, its policies, and the gates of its routes. */
export class LimitScope {
  /** The hook in which it looks at every request. */
  readonly hook: LimitHook
  /** True once the server takes requests: then it is too late to set routes up. */
  isStarted = false
  readonly #settings: object
  readonly #gate: FastifyGate | null
  readonly #policies = new Map<string, FastifyGate>()
  /** Gates of GET routes, for the HEAD routes that Fastify makes of them. */
  readonly #ofGet = new Map<string, { limit: unknown; gate: FastifyGate }>()

  constructor(options: RateLimitPluginOptions) {
    const { hook, policies = {}, ...rest } = options
    checkNames(
      options,
      [...policyOptionNames, 'limits', ...gateSettingNames, 'hook', 'policies'],
      'the plugin'
    )
    this.#settings = pick(options, [...gateSettingNames, 'hook'])
    const hasRules = policyOptionNames.some((name) => name in rest) || 'limits' in rest
    this.#gate = hasRules ? this.#makeGate(rest as ResolvedLimit, 'the plugin') : null
    this.hook = hookOf(hook, this.#gate)
    for (const [name, policy] of Object.entries(policies)) {
      if (typeof policy !== 'object' || policy === null)
        throw badOption(`policies.${name}`, policy, "give a policy such as { limit: 5, window: '15m' }")
      this.#policies.set(name, this.#routeGate('limits' in policy ? policy : { name, ...policy }))
    }
  }

  /** Limits a request of the scope by its route's own gate, or by the scope's. */
  handle(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const config = request.routeOptions.config as ClaimedConfig | undefined
    let claimed = config?.[claim]
    if (claimed === undefined && config?.limit !== undefined) claimed = this.#lateClaim(config)
    const isMine = claimed === undefined || (claimed.scope !== this && claimed.gate !== null)
    const gate = isMine ? this.#gate : claimed!.isHooked ? null : claimed!.gate
    if (gate === null) done()
    else gate.handle(request, reply, done as Next)
  }

  /** Reads the `limit` of a route as it is declared. */
  claimRoute(route: RouteOptions): void {
    const limit = route.limit ?? (route.config as ClaimedConfig | undefined)?.limit
    if (limit === undefined) return
    const gate = limit === false ? null : this.#gateOf(limit, route)
    const hook = gate === null ? this.hook : hookOf(hookIn(limit, this.#settings), gate)
    const isHooked = gate !== null && hook !== this.hook
    if (isHooked) addRouteHook(route, hook, gate)
    route.config = Object.assign({}, route.config, {
      [claim]: { scope: this, gate, isHooked } satisfies Claim
    })
  }

  /** A hook for one route. */
  hookFor(limit: FastifyRouteLimit | string): LimitHookFunction {
    if (this.isStarted) warnOfLateLimiter()
    const gate = typeof limit === 'string' ? this.#policy(limit) : this.#routeGate(limit)
    return (request, reply, done) => gate.handle(request, reply, done as Next)
  }

  /** The `config.limit` of a route that was declared before the plugin had loaded: read by its first request. */
  #lateClaim(config: ClaimedConfig): Claim {
    const limit = config.limit as Exclude<RouteLimit, undefined>
    const gate =
      limit === false ? null : typeof limit === 'string' ? this.#policy(limit) : this.#routeGate(limit)
    config[claim] = { scope: this, gate, isHooked: false }
    return config[claim]
  }

  #gateOf(limit: Exclude<RouteLimit, false>, route: RouteOptions): FastifyGate {
    if (typeof limit === 'string') return this.#policy(limit)
    const methods = ([] as string[]).concat(route.method)
    const known = this.#ofGet.get(route.url)
    if (methods.length === 1 && methods[0] === 'HEAD' && known?.limit === limit) return known.gate
    const gate = this.#routeGate(limit)
    if (methods.includes('GET')) this.#ofGet.set(route.url, { limit, gate })
    return gate
  }

  #policy(name: string): FastifyGate {
    const gate = this.#policies.get(name)
    if (gate) return gate
    const known = [...this.#policies.keys()]
    const near = nearest(name, known)
    throw new HeadgateError(
      'HEADGATE_UNKNOWN_POLICY',
      `\`limit\` names the policy '${name}', which the plugin has not: ${near ? `did you mean '${near}'?` : `known are ${known.join(', ') || 'none'}.`}`
    )
  }

  /** A gate with the plugin's settings where the route's own options leave them out. */
  #routeGate(limit: FastifyRouteLimit): FastifyGate {
    if (typeof limit !== 'object' || limit === null)
      throw badOption(
        'limit',
        limit,
        "give a policy such as { limit: 5, window: '1m' }, a policy's name, or false"
      )
    return this.#makeGate({ ...this.#settings, ...limit } as ResolvedLimit, "a route's `limit`")
  }

  #makeGate({ hook, ...options }: ResolvedLimit & { hook?: unknown }, where: string): FastifyGate {
    checkHook(hook)
    return new Gate(gatePlan(options as ResolvedLimit, where), fastifyPort)
  }
}

function hookIn(limit: unknown, settings: { hook?: LimitHook }): LimitHook | undefined {
  return (typeof limit === 'object' ? (limit as { hook?: LimitHook }).hook : undefined) ?? settings.hook
}

function hookOf(asked: LimitHook | undefined, gate: FastifyGate | null): LimitHook {
  checkHook(asked)
  return asked ?? (gate?.usesUser ? 'preHandler' : 'onRequest')
}

function checkHook(hook: unknown): void {
  if (hook !== undefined && !hooks.includes(hook as LimitHook))
    throw badOption('hook', hook, `give one of ${hooks.map((name) => `'${name}'`).join(', ')}`)
}

function addRouteHook(route: RouteOptions, hook: LimitHook, gate: FastifyGate): void {
  const run = (request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]) =>
    gate.handle(request, reply, rest[rest.length - 1] as Next)
  const own = route[hook] as unknown
  Object.assign(route, { [hook]: [...(own === undefined ? [] : Array.isArray(own) ? own : [own]), run] })
}
