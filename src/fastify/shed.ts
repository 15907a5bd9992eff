import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  RouteShorthandOptions
} from 'fastify'
import fp from 'fastify-plugin'
import { HeadgateError } from '../core/errors.js'
import { badOption, type OptionTable } from '../core/options.js'
import { fastifyHost } from '../hosts/fastify/host.js'
import { takeThrough } from '../http/deliver.js'
import { ShedGate } from '../shed/gate.js'
import { type ShedOptions, shedPlan } from '../shed/options.js'
import type { RouteShed } from '../shed/routes.js'
import type { ShedState } from '../shed/state.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** What is shed here, and why: for readiness checks. Of several registrations, that of the latest. */
    readonly pressure: ShedState
  }
  interface FastifyContextConfig {
    /** False for a route that is never shed; or its own priority, and what answers its requests that are shed. */
    shed?: FastifyRouteShed | undefined
  }
}

/** What a route says of shedding, in its `config`. */
export type FastifyRouteShed = RouteShed<FastifyRequest, FastifyReply>

/** A route that tells how the worker is: `/status`, or elsewhere, with any options of routes. */
export type StatusRoute = boolean | string | (RouteShorthandOptions & { readonly url?: string | undefined })

/** Options of the plugin `shed`. */
export type ShedPluginOptions = ShedOptions<FastifyRequest, FastifyReply, string> & {
  /** Adds a route that answers 200, or 503 where the worker is not healthy. It is never shed. */
  readonly statusRoute?: StatusRoute | undefined
}

/** The options that there are on Fastify only. */
const fastifyOptions: OptionTable = {
  statusRoute: {}
}

type FastifyShedGate = ShedGate<FastifyRequest, FastifyReply>

/** Marks instances whose `pressure` is ours, for all copies of this package. */
const pressed = Symbol.for('headgate.fastify.pressure/1')

async function plugin(app: FastifyInstance, options: ShedPluginOptions): Promise<void> {
  const route = statusRouteOf(options.statusRoute)
  const gate: FastifyShedGate = new ShedGate(shedPlan(options, fastifyOptions))
  // A timer of one that does not come to serve would look at the worker for ever.
  app.addHook('onClose', async () => gate.close())
  decorate(app, gate)
  gate.begin()
  app.addHook('onRoute', (declared) => void gate.on(declared.config?.shed))
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const said = request.routeOptions.config.shed
    if (said === undefined) takeThrough(gate, fastifyHost, request, reply, done)
    else takeThroughRoute(gate, said, request, reply, done)
  })
  if (route !== null) addStatusRoute(app, gate, route)
}

/** A route that was declared before the plugin was loaded is read by its first request. */
function takeThroughRoute(
  gate: FastifyShedGate,
  said: FastifyRouteShed,
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction
): void {
  let entry: Pick<FastifyShedGate, 'enter'>
  try {
    entry = gate.on(said)
  } catch (error) {
    done(error as Error)
    return
  }
  takeThrough(entry, fastifyHost, request, reply, done)
}

function decorate(app: FastifyInstance & { [pressed]?: true }, gate: FastifyShedGate): void {
  if ('pressure' in app && app[pressed] === undefined)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'The server is already decorated with a `pressure` that is not headgate’s.'
    )
  app[pressed] = true
  Object.defineProperty(app, 'pressure', {
    get: () => gate.state,
    configurable: true,
    enumerable: true
  })
}

interface Route extends RouteShorthandOptions {
  readonly url: string
}

function statusRouteOf(statusRoute: unknown): Route | null {
  if (statusRoute === undefined || statusRoute === false) return null
  const wanted =
    statusRoute === true ? {} : typeof statusRoute === 'string' ? { url: statusRoute } : statusRoute
  const { url = '/status' } = (wanted ?? {}) as { url?: unknown }
  const isObject = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted)
  if (isObject && typeof url === 'string' && url.startsWith('/')) return { ...wanted, url }
  throw badOption(
    'statusRoute',
    statusRoute,
    "give true for '/status', a path, or { url, … } with options of routes"
  )
}

function addStatusRoute(app: FastifyInstance, gate: FastifyShedGate, { url, ...options }: Route): void {
  app.get(
    url,
    { ...options, config: { ...options.config, shed: false, limit: false } } as RouteShorthandOptions,
    async (_request, reply) => {
      const { statusCode, headers, body } = await gate.status()
      return reply.code(statusCode).headers(headers).send(body)
    }
  )
}

/**
 * The plugin that sheds load by priority, for lack of room among the requests in flight or for the health of this worker.
 * It sheds in the first hook, `onRequest`; register it before all that costs anything.
 * @example
 * await app.register(shed, { health: { eventLoopDelay: '100ms' }, statusRoute: true })
 * app.get('/healthz', { config: { shed: false } }, handler)
 * app.post('/pay', { config: { shed: { priority: 'critical' } } }, handler)
 */
export const shed: FastifyPluginAsync<ShedPluginOptions> = fp(plugin, {
  fastify: '5.x',
  name: 'headgate-shed'
})
