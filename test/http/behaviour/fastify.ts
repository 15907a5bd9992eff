import fastifyCors from '@fastify/cors'
import createFastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { rateLimit } from '../../../src/fastify/index.js'
import {
  type AppSpec,
  type Built,
  type CommonRequest,
  type Exchange,
  type Framework,
  type Handler,
  type Limiters,
  limitersOf,
  many,
  type RouteSpec,
  type Step
} from './harness.js'

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** The implementation of the suite for Fastify. */
export const fastifyFramework: Framework = {
  name: 'fastify',
  trustOption: 'trustProxy',
  denialType: 'application/json',
  redirect: (response, to) => void (response as FastifyReply).redirect(to),
  ignoresHopCounts: true,
  build,
  reply: (response, status, body) => void (response as FastifyReply).code(status).send(body),
  buildPerRequest: async (options) => {
    const app = createFastify()
    await app.register(rateLimit)
    app.get('/', (request, reply) => {
      app.limit(options() as never)(request, reply, (error?: Error) => void reply.send(error ?? 'ok'))
    })
    await app.ready()
    return { server: app.server, errors: [], close: () => app.close() }
  }
}

async function build(spec: AppSpec): Promise<Built> {
  const errors: unknown[] = []
  const app = createFastify({
    ...(spec.trustProxy === undefined ? {} : { trustProxy: spec.trustProxy as string[] }),
    ...(spec.maxHeaderSize ? { http: { maxHeaderSize: spec.maxHeaderSize } } : {})
  })
  let limiters: Limiters
  try {
    limiters = await set(app, spec, errors)
  } catch (error) {
    await app.close()
    throw error
  }
  return { server: app.server, errors, limiters, close: () => app.close() }
}

async function set(app: FastifyInstance, spec: AppSpec, errors: unknown[]): Promise<Limiters> {
  if (spec.collectErrors)
    app.setErrorHandler((error, _request, reply) => {
      errors.push(error)
      void reply.code(500).send('collected')
    })
  if (spec.cors) await app.register(fastifyCors, { origin: 'https://app.example' })
  for (const step of spec.before ?? []) app.addHook('onRequest', hookOf(step))
  const globals = many(spec.global)
  const first = { ...globals[0], ...(spec.policies ? { policies: spec.policies } : {}) }
  await app.register(rateLimit, first as never)
  for (const options of globals.slice(1)) await app.register(rateLimit, options as never)
  const instances = Object.fromEntries(
    Object.entries(spec.instances ?? {}).map(([name, options]) => [name, app.limit(options as never)])
  )
  for (const instance of spec.globalInstances ?? []) app.addHook('onRequest', instances[instance]!)
  const after = (spec.after ?? []).map(hookOf)
  const add = (route: RouteSpec) => {
    const hooks = [
      ...(route.also ?? []).map((options) => app.limit(options as never)),
      ...(route.instances ?? []).map((instance) => instances[instance]!),
      ...after
    ]
    app.route({
      method: route.method ?? 'GET',
      url: route.path,
      ...(route.limit === undefined ? {} : { limit: route.limit as never }),
      ...(hooks.length > 0 ? { onRequest: hooks as Hook[] } : {}),
      handler: handlerOf(route.handler)
    })
  }
  for (const route of spec.routes ?? [{ path: '/' }]) add(route)
  await app.ready()
  return limitersOf(instances)
}

function hookOf(step: Step): Hook {
  return (request, reply, done) => {
    step(exchangeOf(request, reply))
    if (!reply.sent) done()
  }
}

function handlerOf(handler: Handler | undefined) {
  return (request: FastifyRequest, reply: FastifyReply): unknown => {
    const result = handler?.(exchangeOf(request, reply))
    if (result instanceof Promise) return result.then(() => (reply.sent ? reply : 'ok'))
    if (!reply.sent) void reply.code(200).send('ok')
    return undefined
  }
}

function exchangeOf(request: FastifyRequest, reply: FastifyReply): Exchange {
  return {
    request: request as unknown as CommonRequest,
    response: reply,
    setHeader: (name, value) => void reply.header(name, value),
    send: (status, body = '') => void reply.code(status).send(body)
  }
}
