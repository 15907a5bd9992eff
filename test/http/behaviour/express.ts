import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import cors from 'cors'
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { type RateLimitMiddleware, rateLimit } from '../../../src/express/index.js'
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

const express4 = createRequire(import.meta.url)('express4') as typeof express

/** The factories of both versions, by name. */
export const expressVersions = { express4, express5: express } as const

/** An implementation of the suite for one version of Express. */
export function expressFramework(name: 'express4' | 'express5'): Framework {
  const factory = expressVersions[name]
  return {
    name,
    trustOption: 'trust proxy',
    denialType: 'text/plain',
    redirect: (response, to) => (response as Response).redirect(to),
    build: async (spec) => build(factory, spec),
    reply: (response, status, body) => void (response as Response).status(status).end(body),
    buildPerRequest: async (options) => {
      const app = factory()
      app.get('/', (request, response, next) => {
        const limiter = rateLimit(options() as never)
        limiter(request, response, (error) => (error ? next(error) : response.end('ok')))
      })
      return built(createServer(app), [])
    }
  }
}

function build(factory: typeof express, spec: AppSpec): Built {
  const app = factory()
  const errors: unknown[] = []
  const make = (options: Options) => rateLimit(options as never)
  const named = mapped(spec.policies, make)
  const instances = mapped(spec.instances, make)
  if (spec.trustProxy !== undefined) app.set('trust proxy', spec.trustProxy)
  if (spec.cors) app.use(cors({ origin: 'https://app.example' }))
  for (const step of spec.before ?? []) app.use(middlewareOf(step))
  const routes = spec.routes ?? [{ path: '/' }]
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
    const method = (route.method ?? 'GET').toLowerCase() as 'get' | 'post' | 'options'
    app[method](route.path, ...(chain as RequestHandler[]))
  }
  // A route that has its own limit, or none, stands before the global limiter: in Express order is what decides.
  for (const route of routes) if (route.limit !== undefined) add(route)
  for (const options of many(spec.global)) app.use(make(options))
  for (const instance of spec.globalInstances ?? []) app.use(instances[instance]!)
  for (const route of routes) if (route.limit === undefined) add(route)
  if (spec.collectErrors)
    app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
      errors.push(error)
      if (!response.headersSent) response.status(500).end('collected')
    })
  const server = createServer(spec.maxHeaderSize ? { maxHeaderSize: spec.maxHeaderSize } : {}, app)
  return { ...built(server, errors), limiters: limitersOf(instances) }
}

function built(server: Built['server'], errors: unknown[]): Built {
  return { server, errors, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

function mapped(
  options: AppSpec['policies'],
  make: (options: Options) => RateLimitMiddleware
): Record<string, RateLimitMiddleware> {
  return Object.fromEntries(Object.entries(options ?? {}).map(([name, one]) => [name, make(one)]))
}

function middlewareOf(step: Step): RequestHandler {
  return (request, response, next) => {
    const exchange = exchangeOf(request, response)
    step(exchange)
    if (!response.writableEnded) next()
  }
}

function handlerOf(handler: Handler | undefined): RequestHandler {
  return (request, response, next) => {
    const exchange = exchangeOf(request, response)
    const finish = () => {
      if (!response.writableEnded) response.status(200).end('ok')
    }
    const result = handler?.(exchange)
    if (result instanceof Promise) result.then(finish, next)
    else finish()
  }
}

function exchangeOf(request: Request, response: Response): Exchange {
  return {
    request: request as CommonRequest,
    response,
    setHeader: (name, value) => void response.setHeader(name, value),
    send: (status, body = '') => void response.status(status).end(body)
  }
}
