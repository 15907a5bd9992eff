import 'reflect-metadata'
import type { DynamicModule, INestApplication, Provider, Type } from '@nestjs/common'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { afterEach } from 'vitest'
import { RateLimitModule, type RateLimitModuleOptions } from '../../src/nest/index.js'

export type Platform = 'express' | 'fastify'

export const platforms: readonly Platform[] = ['express', 'fastify']

/** A small application. */
export interface NestSpec {
  /** Of the module, on a clock that stands still if they give none; left out for those who import it themselves. */
  readonly options?: RateLimitModuleOptions
  readonly imports?: readonly (DynamicModule | Type)[]
  readonly controllers?: readonly Type[]
  readonly providers?: readonly Provider[]
  /** Run before the application is initialised. */
  readonly set?: (app: INestApplication) => void
}

/** What a response was. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** An application that listens. */
export interface RunningNest {
  readonly app: INestApplication
  request(path: string, headers?: Record<string, string>, method?: string): Promise<Answered>
  /** The statuses of requests, one after the other. */
  statuses(...paths: readonly string[]): Promise<number[]>
}

/** Starts applications for the tests of a file, and closes them after each. */
export function nestApps(): (platform: Platform, spec: NestSpec) => Promise<RunningNest> {
  const running: INestApplication[] = []
  afterEach(async () => {
    for (const app of running.splice(0)) await app.close()
  })
  return async (platform, spec) => {
    const app = await create(platform, spec)
    running.push(app)
    spec.set?.(app)
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address() as { port: number }
    const request: RunningNest['request'] = async (path, headers = {}, method = 'GET') => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, method })
      return { status: response.status, headers: response.headers, body: await response.text() }
    }
    return {
      app,
      request,
      async statuses(...paths) {
        const seen: number[] = []
        for (const path of paths) seen.push((await request(path)).status)
        return seen
      }
    }
  }
}

/** An application that is not started. */
export function create(platform: Platform, spec: NestSpec): Promise<INestApplication> {
  class Root {}
  const { options, imports = [], controllers = [], providers = [] } = spec
  const limits = options === undefined ? [] : [RateLimitModule.forRoot({ now: () => 0, ...options })]
  Module({ imports: [...limits, ...imports], controllers: [...controllers], providers: [...providers] })(Root)
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()
  return NestFactory.create(Root, adapter, { logger: false, abortOnError: false })
}

/** A path several times. */
export function times(count: number, path: string): string[] {
  return Array.from({ length: count }, () => path)
}
