import 'reflect-metadata'
import { createServer } from 'node:http'
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExecutionContext,
  type INestApplication,
  Module,
  NotFoundException,
  Req,
  RequestMapping,
  RequestMethod,
  Res,
  type Type,
  UseGuards
} from '@nestjs/common'
import { BaseExceptionFilter, HttpAdapterHost, NestFactory } from '@nestjs/core'
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { Request, Response } from 'express'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Limit, limitGuard, RateLimitException, RateLimitModule } from '../../src/nest/index.js'
import {
  type AppSpec,
  type Built,
  type CommonRequest,
  type Exchange,
  type Framework,
  limitersOf,
  many,
  type Options,
  type RouteSpec
} from '../http/behaviour/harness.js'

type Platform = 'express' | 'fastify'

/** An implementation of the suite for Nest over one platform. */
export function nestFramework(platform: Platform): Framework {
  return {
    name: `nest-${platform}`,
    trustOption: platform === 'express' ? 'trust proxy' : 'trustProxy',
    denialType: 'application/json',
    redirect: (response, to) => void (response as { redirect(to: string): unknown }).redirect(to),
    ignoresHopCounts: platform === 'fastify' && ignoresHopCounts(new FastifyAdapter().getInstance().version),
    build: (spec) => build(platform, spec),
    reply(response, status, body) {
      if (platform === 'express') (response as Response).status(status).end(body)
      else void (response as FastifyReply).code(status).send(body)
    },
    buildPerRequest: (options) => {
      const guard = {
        canActivate: (context: ExecutionContext) => limitGuard(options() as never).canActivate(context)
      }
      return build(platform, { routes: [{ path: '/' }] }, [guard])
    }
  }
}

function ignoresHopCounts(version: string): boolean {
  return version.localeCompare('5.12.1', 'en', { numeric: true }) >= 0
}

async function build(platform: Platform, spec: AppSpec, guards: readonly object[] = []): Promise<Built> {
  const errors: unknown[] = []
  const app = await NestFactory.create(moduleOf(spec, platform, guards), adapterOf(platform, spec), {
    logger: false,
    abortOnError: false
  })
  try {
    if (platform === 'express') setExpress(app as NestExpressApplication, spec)
    else setFastify(app as NestFastifyApplication, spec)
    const named = instancesOf(spec)
    const [, ...later] = many(spec.global)
    app.useGlobalGuards(
      ...later.map((options) => limitGuard(options as never)),
      ...(spec.globalInstances ?? []).map((name) => named[name]!)
    )
    if (spec.collectErrors) app.useGlobalFilters(collector(app, errors))
    await app.init()
    if (platform === 'fastify') await app.getHttpAdapter().getInstance().ready()
  } catch (error) {
    await app.close()
    throw error
  }
  const { maxHeaderSize } = spec
  const server =
    platform === 'express' && maxHeaderSize
      ? createServer({ maxHeaderSize }, app.getHttpAdapter().getInstance())
      : app.getHttpServer()
  return { server, errors, limiters: limitersOf(instancesOf(spec)), close: () => app.close() }
}

function adapterOf(platform: Platform, spec: AppSpec): ExpressAdapter | FastifyAdapter {
  if (platform === 'express') return new ExpressAdapter()
  return new FastifyAdapter({
    ...(spec.trustProxy === undefined ? {} : { trustProxy: spec.trustProxy as string[] }),
    ...(spec.maxHeaderSize ? { http: { maxHeaderSize: spec.maxHeaderSize } } : {})
  })
}

function setExpress(app: NestExpressApplication, spec: AppSpec): void {
  if (spec.trustProxy !== undefined) app.set('trust proxy', spec.trustProxy)
  if (spec.cors) app.enableCors({ origin: 'https://app.example' })
  for (const step of spec.before ?? [])
    app.use((request: Request, response: Response, next: () => void) => {
      step(exchangeOf('express', request, response))
      if (!response.writableEnded) next()
    })
}

function setFastify(app: NestFastifyApplication, spec: AppSpec): void {
  if (spec.cors) app.enableCors({ origin: 'https://app.example' })
  const server = app.getHttpAdapter().getInstance()
  for (const step of spec.before ?? [])
    server.addHook('onRequest', (request, reply, done) => {
      step(exchangeOf('fastify', request, reply))
      if (!reply.sent) done()
    })
}

const instances = new WeakMap<AppSpec, Record<string, ReturnType<typeof limitGuard>>>()

/** The instances of a server, made once. */
function instancesOf(spec: AppSpec): Record<string, ReturnType<typeof limitGuard>> {
  const known = instances.get(spec)
  if (known) return known
  const made = Object.fromEntries(
    Object.entries(spec.instances ?? {}).map(([name, options]) => [name, limitGuard(options as never)])
  )
  instances.set(spec, made)
  return made
}

function moduleOf(spec: AppSpec, platform: Platform, guards: readonly object[]): Type {
  class Root {}
  const [global] = many(spec.global)
  const options = { ...global, ...(spec.policies ? { policies: spec.policies } : {}) }
  const controllers = (spec.routes ?? [{ path: '/' }]).map((route) =>
    controllerOf(route, spec, platform, guards)
  )
  Module({ imports: [RateLimitModule.forRoot(options as never)], controllers })(Root)
  return Root
}

function controllerOf(route: RouteSpec, spec: AppSpec, platform: Platform, guards: readonly object[]): Type {
  class RouteController {
    async handle(request: object, response: object): Promise<void> {
      const exchange = exchangeOf(platform, request, response)
      const isSent = () =>
        platform === 'express' ? (response as Response).headersSent : (response as FastifyReply).sent
      for (const step of spec.after ?? []) {
        step(exchange)
        if (isSent()) return
      }
      await route.handler?.(exchange)
      if (!isSent()) exchange.send(200, 'ok')
    }
  }
  const { prototype } = RouteController
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle')!
  const also = [
    ...guards,
    ...(route.also ?? []).map((options) => limitGuard(options as never)),
    ...(route.instances ?? []).map((name) => instancesOf(spec)[name]!)
  ]
  if (also.length > 0) UseGuards(...(also as never[]))(prototype, 'handle', descriptor)
  const { limit } = route
  if (limit !== undefined) decoratorOf(limit)(prototype, 'handle', descriptor)
  Req()(prototype, 'handle', 0)
  Res()(prototype, 'handle', 1)
  const method = RequestMethod[route.method ?? 'GET']
  RequestMapping({ path: route.path, method })(prototype, 'handle', descriptor)
  Controller()(RouteController)
  return RouteController
}

function decoratorOf(limit: Options | false | string) {
  if (limit === false) return Limit.skip()
  return typeof limit === 'string' ? Limit(limit) : Limit(limit as never)
}

/** A filter that catches everything, and answers errors and denials as the suite expects. */
function collector(app: INestApplication, errors: unknown[]) {
  class Collector extends BaseExceptionFilter {
    override catch(exception: unknown, host: ArgumentsHost): void {
      if (exception instanceof RateLimitException) exception.send()
      else if (exception instanceof NotFoundException) super.catch(exception, host)
      else {
        errors.push(exception)
        const response = host.getArgByIndex(1)
        const { httpAdapter } = app.get(HttpAdapterHost)
        if (!httpAdapter.isHeadersSent(response)) httpAdapter.reply(response, 'collected', 500)
      }
    }
  }
  Catch()(Collector)
  return new Collector(app.get(HttpAdapterHost).httpAdapter)
}

function exchangeOf(platform: Platform, request: object, response: object): Exchange {
  if (platform === 'express') {
    const out = response as Response
    return {
      request: request as CommonRequest,
      response,
      setHeader: (name, value) => void out.setHeader(name, value),
      send: (status, body = '') => void out.status(status).end(body)
    }
  }
  const reply = response as FastifyReply
  return {
    request: request as FastifyRequest as unknown as CommonRequest,
    response,
    setHeader: (name, value) => void reply.header(name, value),
    send: (status, body = '') => void reply.code(status).send(body)
  }
}
