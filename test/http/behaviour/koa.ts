import { createServer } from 'node:http'
import Koa, { type Middleware } from 'koa'
import { type KoaContext, type LimitMiddleware, rateLimit } from '../koa/rate-limit.js'
import {
  type AppSpec,
  type Built,
  type CommonRequest,
  type Exchange,
  type Framework,
  type Handler,
  limitersOf,
  many,
  type Options,
  type RouteSpec,
  type Step
} from './harness.js'

/** The implementation of the suite for Koa. */
export const koaFramework: Framework = {
  name: 'koa',
  trustOption: 'proxy',
  denialType: 'text/plain',
  redirect: (response, to) => (response as KoaContext).redirect(to),
  build: async (spec) => build(spec),
  reply: (response, status, body) => Object.assign(response as KoaContext, { status, body }),
  buildPerRequest: async (options) => {
    const app = new Koa()
    app.use((ctx, next) => rateLimit(options() as never)(ctx, next))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return built(app, [])
  }
}

function build(spec: AppSpec): Built {
  const app = new Koa()
  const errors: unknown[] = []
  const make = (options: Options) => rateLimit(options as never)
  const named = mapped(spec.policies, make)
  const instances = mapped(spec.instances, make)
  app.silent = true
  Object.assign(app, { proxy: spec.trustProxy ?? false })
  if (spec.collectErrors)
    app.use(async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        errors.push(error)
        Object.assign(ctx, { status: 500, body: 'collected' })
      }
    })
  if (spec.cors) app.use(cors)
  for (const step of spec.before ?? []) app.use(middlewareOf(step))
  const add = (route: RouteSpec) => {
    const { limit } = route
    const own = typeof limit === 'string' ? named[limit]! : limit ? make(limit) : null
    const chain = [
      ...(own ? [own] : []),
      ...(route.also ?? []).map(make),
      ...(route.instances ?? []).map((instance) => instances[instance]!),
      ...(spec.after ?? []).map(middlewareOf),
      handlerOf(route.handler)
    ]
    app.use(routed(route, chain))
  }
  const routes = spec.routes ?? [{ path: '/' }]
  // A route that has its own limit, or none, stands before the global limiter: in Koa order is what decides.
  for (const route of routes) if (route.limit !== undefined) add(route)
  for (const options of many(spec.global)) app.use(make(options))
  for (const instance of spec.globalInstances ?? []) app.use(instances[instance]!)
  for (const route of routes) if (route.limit === undefined) add(route)
  return { ...built(app, errors, spec.maxHeaderSize), limiters: limitersOf(instances) }
}

function built(app: Koa, errors: unknown[], maxHeaderSize?: number): Built {
  const server = createServer(maxHeaderSize ? { maxHeaderSize } : {}, app.callback())
  return { server, errors, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

function mapped(options: AppSpec['policies'], make: (options: Options) => LimitMiddleware) {
  return Object.fromEntries(Object.entries(options ?? {}).map(([name, one]) => [name, make(one)]))
}

/** Runs a chain for the requests of a route, and lets others go on. */
function routed({ path, method = 'GET' }: RouteSpec, chain: readonly Middleware[]): Middleware {
  const pattern = new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}/?$`, 'i')
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
  return (ctx, next) => {
    if (!methods.includes(ctx.method) || !pattern.test(ctx.path)) return next()
    const run = (i: number): Promise<unknown> => Promise.resolve(chain[i]?.(ctx, () => run(i + 1)))
    return run(0)
  }
}

const cors: Middleware = async (ctx, next) => {
  ctx.set('Access-Control-Allow-Origin', 'https://app.example')
  ctx.vary('Origin')
  const asked = ctx.get('Access-Control-Request-Method')
  if (ctx.method !== 'OPTIONS' || asked === '') return next()
  ctx.set('Access-Control-Allow-Methods', asked)
  ctx.status = 204
}

function middlewareOf(step: Step): Middleware {
  return (ctx, next) => {
    step(exchangeOf(ctx as KoaContext))
    return ctx.body === undefined ? next() : undefined
  }
}

function handlerOf(handler: Handler | undefined): Middleware {
  return async (ctx) => {
    await handler?.(exchangeOf(ctx as KoaContext))
    if (ctx.body === undefined) Object.assign(ctx, { status: 200, body: 'ok' })
  }
}

function exchangeOf(ctx: KoaContext): Exchange {
  return {
    request: ctx as CommonRequest,
    response: ctx,
    setHeader: (name, value) => ctx.set(name, value),
    send: (status, body = '') => Object.assign(ctx, { status, body })
  }
}
