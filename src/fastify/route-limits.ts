import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  RouteOptions
} from 'fastify'
import { HeadgateError } from '../core/errors.js'
import { warn } from '../core/warn.js'
import { fastifyHost } from '../hosts/fastify/host.js'
import { onServerMade, pathsOf } from '../hosts/fastify/internals.js'
import { type Next, takeThrough } from '../http/deliver.js'
import type { Gate } from '../http/gate.js'
import type { LimitHook, RouteLimit } from './options.js'

export type FastifyGate = Gate<FastifyRequest, FastifyReply>

/** A gate and the hook that it runs in. */
export interface Placed {
  readonly gate: FastifyGate
  readonly hook: LimitHook
}

/** What became of a route's own `limit`. It stands in the route's config. */
export interface Claim {
  /** The `limit` that it is of: a route made of another's options may have another one. */
  readonly limit: unknown
  /** Who read it: the innermost registration of the plugin around the route. */
  scope: object | undefined
  /** null where the route is not to be limited. */
  placed: Placed | null
  /** Hooks of the route's own that run the gate, if it is placed there. */
  readonly hooks: Set<LimitHook>
}

/** Marks the claim in a route's config. */
export const claim = Symbol('headgate.claim')

/** The `limit` that a route was declared with; undefined if it says nothing. */
export function limitOf(route: RouteOptions): RouteLimit | null | undefined {
  return route.limit === undefined ? route.config?.limit : route.limit
}

/** False while no route of the process has a `limit`: then there is no need to look, and Fastify makes an object to look at. */
export let hasClaims = false

/** The claim of a route that has a `limit`; made once, before Fastify copies the route's config. */
export function claimOf(route: RouteOptions): Claim {
  hasClaims = true
  const config = route.config as { [claim]?: Claim } | undefined
  const limit = limitOf(route)
  const known = config?.[claim]
  if (known !== undefined && known.limit === limit) return known
  const made: Claim = { limit, scope: undefined, placed: null, hooks: new Set() }
  route.config = Object.assign({}, route.config, { [claim]: made })
  return made
}

/** Has the route run its gate in a hook of its own, after those that it has. */
export function addRouteHook(route: RouteOptions, hook: LimitHook, claimed: Claim): void {
  if (claimed.hooks.has(hook)) return
  claimed.hooks.add(hook)
  const run = limitHook(() => (claimed.placed?.hook === hook ? claimed.placed.gate : null))
  const own = route[hook] as unknown
  Object.assign(route, { [hook]: [...(own === undefined ? [] : Array.isArray(own) ? own : [own]), run] })
}

type PlainHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void

/** A hook that takes a request through the gate that is chosen for it. */
export function limitHook(choose: (request: FastifyRequest) => FastifyGate | null): PlainHook {
  // `preParsing` gives its hooks the payload before the callback. Not a rest parameter: it would be an array a request.
  return (request: FastifyRequest, reply: FastifyReply, third: unknown, fourth?: unknown) => {
    const done = (fourth ?? third) as Next
    const gate = choose(request)
    if (gate === null) done()
    else takeThrough(gate, fastifyHost, request, reply, done)
  }
}

/** A route, and the instance that declared it. */
export interface Declared {
  readonly by: FastifyInstance
  readonly route: RouteOptions
}

/** Routes with a `limit`, by server, in the order of declaration. */
const declared = new WeakMap<object, Declared[]>()

/*
 * Fastify tells plugins of routes that are declared after they have loaded only, and a plugin whose `register` is not
 * awaited loads after the routes beside it. So each server is watched from its making on; one that was made before this
 * module was loaded is not.
 */
onServerMade((fastify) => {
  const routes: Declared[] = []
  declared.set(fastify.server, routes)
  fastify.addHook('onRoute', function (this: FastifyInstance, route) {
    if (limitOf(route) === undefined) return
    claimOf(route)
    routes.push({ by: this, route })
  })
  fastify.addHook('onReady', async () => {
    for (const { route } of routes)
      if (limitOf(route) !== false && claimOf(route).scope === undefined) throw unprotected(route)
  })
})

function unprotected({ method, url }: RouteOptions): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MISUSE',
    `The route ${method} ${url} has a \`limit\`, but no plugin is registered around it: register headgate/fastify in its scope.`
  )
}

/** What other limiters call a route's limit. */
const foreignNames = ['rateLimit', 'limits'] as const

/** Refuses a limit under a name that nothing reads, as long as no other limiter is there to read it. */
export function checkRoute(app: FastifyInstance, route: RouteOptions): void {
  if (app.hasDecorator('rateLimit')) return
  const config = route.config as Readonly<Record<string, unknown>> | undefined
  for (const name of foreignNames)
    if (name in route || (config !== undefined && name in config))
      throw new HeadgateError(
        'HEADGATE_MISUSE',
        `The route ${route.method} ${route.url} has \`${name}\`, which nothing reads: write \`limit: { limit: 5, window: '1m' }\`, or \`limit: false\`.`
      )
}

/**
 * The routes with a `limit` that were declared before now, and by which instance. On a server that was made before
 * this module was loaded they cannot be seen; then the routes that there are are named in a warning.
 */
export function declaredBefore(app: FastifyInstance): readonly Declared[] {
  const routes = declared.get(app.server)
  if (routes !== undefined) return routes
  const paths = pathsOf(app)
  if (paths !== null)
    warn(
      'HEADGATE_UNSEEN_ROUTES',
      `The server was made before headgate/fastify was loaded, so a \`limit\` of ${paths.join(', ')} is not seen: import ` +
        'headgate/fastify before the server is made, or declare the routes after the plugin has loaded.'
    )
  return []
}
