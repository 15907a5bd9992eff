import { headgate } from './harness.js'
import { floor, limit, listenOn, windowMs } from './servers.js'

/*
 * The servers that `nest.js` measures: one controller with one route, and a guard of the whole application. Nest and
 * its throttler are those that the package is developed with: the build finds no others, and of Nest a process can
 * have but one.
 */

/** What each contestant adds to the root module. */
const contestants = {
  bare: () => ({}),
  async floor() {
    const decide = floor()
    return guardedBy({
      useValue: {
        canActivate(context) {
          const http = context.switchToHttp()
          const response = http.getResponse()
          // Fastify's replies have no `setHeader`.
          const set = response.setHeader
            ? (name, value) => response.setHeader(name, value)
            : (name, value) => response.header(name, value)
          return decide(http.getRequest().socket.remoteAddress, set)
        }
      }
    })
  },
  async headgate() {
    const { RateLimitModule } = await headgate('nest/index.js')
    return { imports: [RateLimitModule.forRoot({ limit, window: windowMs })] }
  },
  async '@nestjs/throttler'() {
    const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler')
    return {
      imports: [ThrottlerModule.forRoot([{ limit, ttl: windowMs }])],
      ...(await guardedBy({ useClass: ThrottlerGuard }))
    }
  }
}

export const names = Object.keys(contestants)

async function guardedBy(guard) {
  const { APP_GUARD } = await import('@nestjs/core')
  return { providers: [{ provide: APP_GUARD, ...guard }] }
}

/** Starts a server and gives its port. */
export async function listen(platform, contestant) {
  await import('reflect-metadata')
  const { Module } = await import('@nestjs/common')
  const { NestFactory } = await import('@nestjs/core')
  class Root {}
  Module({ controllers: [await helloController()], ...(await contestants[contestant]()) })(Root)
  const app = await NestFactory.create(Root, await adapterOf(platform), { logger: ['warn', 'error'] })
  await app.init()
  if (platform === 'fastify') await app.getHttpAdapter().getInstance().ready()
  return listenOn(app.getHttpServer(), '127.0.0.1')
}

async function helloController() {
  const { Controller, Get } = await import('@nestjs/common')
  class HelloController {
    hello() {
      return 'ok'
    }
  }
  const { prototype } = HelloController
  Get()(prototype, 'hello', Object.getOwnPropertyDescriptor(prototype, 'hello'))
  Controller()(HelloController)
  return HelloController
}

async function adapterOf(platform) {
  if (platform === 'express') return new (await import('@nestjs/platform-express')).ExpressAdapter()
  return new (await import('@nestjs/platform-fastify')).FastifyAdapter()
}
