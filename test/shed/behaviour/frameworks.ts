import 'reflect-metadata'
import { createServer, type ServerResponse } from 'node:http'
import { Controller, Module, Req, RequestMapping, Res, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { Request, RequestHandler, Response } from 'express'
import createFastify, { type FastifyReply } from 'fastify'
import { shed as expressShed } from '../../../src/express/index.js'
import { shed as fastifyShed } from '../../../src/fastify/index.js'
import { shed as nestShed, RateLimitModule, Shed } from '../../../src/nest/index.js'
import type { ShedOptions, ShedState } from '../../../src/shed/public.js'
import { expressVersions } from '../../http/behaviour/express.js'
import type { Built, CommonRequest } from '../../http/behaviour/harness.js'

/** Options of a shedder, for all frameworks alike. */
export type Options = ShedOptions<CommonRequest, unknown, string>

/** A request that a handler answers, now or later. */
export interface Waiting {
  readonly request: CommonRequest
  readonly raw: ServerResponse
  /** Answers. */
  send(status?: number, body?: string): void
  /** Takes the response over from the framework. */
  hijack(): void
}

/** A route; `/` and what else a test says. */
export interface Route {
  readonly path: string
  /** What it says of shedding, on frameworks whose routes say so. */
  readonly shed?: false | { readonly priority?: string; readonly onShed?: Options['onShed'] }
  /** 200 and `ok` if left out. */
  readonly handler?: (waiting: Waiting) => void
}

/** A server before it listens. */
export interface ShedServer extends Built {
  readonly state: () => ShedState
}

/** A framework, for the suite. */
export interface ShedFramework {
  readonly name: string
  /** True where routes say that they are never shed. */
  readonly hasRoutes: boolean
  readonly denialType: 'text/plain' | 'application/json'
  build(options: Options, routes: readonly Route[]): Promise<ShedServer>
}

const ok = ({ send }: Waiting) => send(200, 'ok')

function onExpress(name: 'express4' | 'express5'): ShedFramework {
  return {
    name,
    hasRoutes: false,
    denialType: 'text/plain',
    async build(options, routes) {
      const app = expressVersions[name]()
      const errors: unknown[] = []
      const shedder = expressShed(options as never)
      app.use(shedder as RequestHandler, shedder as RequestHandler)
      for (const { path, handler = ok } of routes)
        app.all(path, (request, response) => handler(waitingOf(request, response, response)))
      app.use((error: unknown, _request: Request, response: Response, _next: unknown) => {
        errors.push(error)
        if (response.headersSent) response.end()
        else response.status(500).end('collected')
      })
      const server = createServer(app)
      const close = () =>
        new Promise<void>((resolve) => {
          shedder.close()
          server.close(() => resolve())
        })
      return { server, errors, close, state: () => shedder.state }
    }
  }
}

function waitingOf(request: CommonRequest, raw: ServerResponse, response: Response): Waiting {
  return {
    request,
    raw,
    send: (status = 200, body = 'ok') => void response.status(status).end(body),
    hijack() {}
  }
}

function waitingOn(request: object, reply: FastifyReply): Waiting {
  return {
    request: request as CommonRequest,
    raw: reply.raw,
    send: (status = 200, body = 'ok') => void reply.code(status).send(body),
    hijack: () => void reply.hijack()
  }
}

const onFastify: ShedFramework = {
  name: 'fastify',
  hasRoutes: true,
  denialType: 'application/json',
  async build(options, routes) {
    const app = createFastify()
    const errors: unknown[] = []
    app.setErrorHandler((error, _request, reply) => {
      errors.push(error)
      void reply.code(500).send('collected')
    })
    await app.register(fastifyShed, options as never)
    for (const { path, shed, handler = ok } of routes)
      app.all(path, { config: { shed: shed as never } }, (request, reply) =>
        handler(waitingOn(request, reply))
      )
    await app.ready()
    return { server: app.server, errors, close: () => app.close(), state: () => app.pressure }
  }
}

function onNest(platform: 'express' | 'fastify'): ShedFramework {
  return {
    name: `nest-${platform}`,
    hasRoutes: true,
    denialType: 'application/json',
    async build(options, routes) {
      const shedder = nestShed(options as never)
      const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()
      const app = await NestFactory.create(moduleOf(platform, routes), adapter as ExpressAdapter, {
        logger: false
      })
      app.useGlobalGuards(shedder, shedder)
      await app.init()
      if (platform === 'fastify') await app.getHttpAdapter().getInstance().ready()
      const close = async () => {
        shedder.close()
        await app.close()
      }
      return { server: app.getHttpServer(), errors: [], close, state: () => shedder.state }
    }
  }
}

function moduleOf(platform: 'express' | 'fastify', routes: readonly Route[]): Type {
  class Root {}
  const controllers = routes.map(({ path, shed, handler = ok }) => {
    class RouteController {
      handle(request: CommonRequest, response: object): void {
        handler(
          platform === 'express'
            ? waitingOf(request, response as ServerResponse, response as Response)
            : waitingOn(request, response as FastifyReply)
        )
      }
    }
    const { prototype } = RouteController
    const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle')!
    if (shed !== undefined)
      (shed === false ? Shed.skip() : Shed(shed as never))(prototype, 'handle', descriptor)
    Req()(prototype, 'handle', 0)
    Res()(prototype, 'handle', 1)
    RequestMapping({ path, method: 5 })(prototype, 'handle', descriptor)
    Controller()(RouteController)
    return RouteController
  })
  // Its filter answers in the form that a request accepts.
  Module({ imports: [RateLimitModule.forRoot({} as never)], controllers })(Root)
  return Root
}

/** All frameworks. */
export const frameworks: readonly ShedFramework[] = [
  onExpress('express4'),
  onExpress('express5'),
  onFastify,
  onNest('express'),
  onNest('fastify')
]
