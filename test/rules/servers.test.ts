import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { Controller, Get, Module, Param, Post } from '@nestjs/common'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import express5 from 'express'
import Fastify from 'fastify'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import fastifyLimit from '../../src/fastify/index.js'
import { memoryStore } from '../../src/index.js'
import { Limit, RateLimitModule } from '../../src/nest/index.js'
import { parseRules } from '../../src/rules/index.js'
import { manualClock } from '../http/behaviour/harness.js'

const express4 = createRequire(import.meta.url)('express4') as typeof express5

const text = `
- match: { method: POST, path: /login }
  limit: 2
  window: 15m
- match: { route: '/users/:id' }
  limit: 3
  window: 1m
- match: { path: /health }
  limit: false
- match: { header: { x-plan: gone } }
  limit: 0
- limit: 4
  window: 1m
`

/** Sends requests one by one, and tells their statuses. */
type Send = (
  requests: readonly (readonly [method: string, path: string, headers?: Record<string, string>])[]
) => Promise<number[]>

/** The same on every framework: what each rule admits, apart from the others. */
async function holdsTheRules(send: Send): Promise<void> {
  const times = (count: number, method: string, path: string, headers = {}) =>
    Array.from({ length: count }, () => [method, path, headers] as const)
  expect(await send(times(3, 'POST', '/login'))).toEqual([201, 201, 429])
  // Written in another way it is the same path.
  expect(await send([['POST', '/LOGIN/?a=1']])).not.toEqual([201])
  expect(await send(times(4, 'GET', '/users/7'))).toEqual([200, 200, 200, 429])
  expect(await send([['GET', '/users/8']])).toEqual([429])
  expect(await send(times(6, 'GET', '/health'))).toEqual([200, 200, 200, 200, 200, 200])
  expect(await send(times(1, 'GET', '/other', { 'x-plan': 'gone' }))).toEqual([429])
  expect(await send(times(5, 'GET', '/other'))).toEqual([200, 200, 200, 200, 429])
}

describe('a file of rules', () => {
  it.each([
    ['Express 4', express4],
    ['Express 5', express5]
  ])('decides on %s, by its routes', async (_name, express) => {
    const app = express()
    const limit = rateLimit({ rules: parseRules(text), now: manualClock().read })
    app.post('/login', limit, (_request, response) => void response.status(201).end())
    for (const path of ['/users/:id', '/health', '/other'])
      app.get(path, limit, (_request, response) => void response.end())
    await holdsTheRules(async (requests) => {
      const seen: number[] = []
      for (const [method, path, headers = {}] of requests)
        seen.push((await request(app)[method.toLowerCase() as 'get'](path).set(headers)).status)
      return seen
    })
  })

  it('decides on Fastify', async () => {
    const app = Fastify({ routerOptions: { ignoreTrailingSlash: true, caseSensitive: false } })
    await app.register(fastifyLimit, { rules: parseRules(text), now: manualClock().read })
    app.post('/login', (_request, reply) => reply.status(201).send())
    for (const path of ['/users/:id', '/health', '/other']) app.get(path, () => '')
    await holdsTheRules(async (requests) => {
      const seen: number[] = []
      for (const [method, url, headers = {}] of requests)
        seen.push((await app.inject({ method: method as 'GET', url, headers })).statusCode)
      return seen
    })
  })

  it.each(['express', 'fastify'])('decides on NestJS over %s', async (platform) => {
    class Api {
      login() {}
      user() {}
      health() {}
      other() {}
    }
    Controller()(Api)
    for (const [name, decorator] of Object.entries({
      login: Post('login'),
      user: Get('users/:id'),
      health: Get('health'),
      other: Get('other')
    }))
      decorator(Api.prototype, name, Object.getOwnPropertyDescriptor(Api.prototype, name)!)
    Param('id')(Api.prototype, 'user', 0)
    class App {}
    Module({
      imports: [RateLimitModule.forRoot({ rules: parseRules(text), now: manualClock().read })],
      controllers: [Api]
    })(App)
    const built = await Test.createTestingModule({ imports: [App] }).compile()
    const app =
      platform === 'fastify'
        ? built.createNestApplication<NestFastifyApplication>(new FastifyAdapter())
        : built.createNestApplication()
    await app.init()
    if (platform === 'fastify') await app.getHttpAdapter().getInstance().ready()
    await holdsTheRules(async (requests) => {
      const seen: number[] = []
      for (const [method, path, headers = {}] of requests)
        seen.push(
          (await request(app.getHttpServer())[method.toLowerCase() as 'get'](path).set(headers)).status
        )
      return seen
    })
    await app.close()
  })

  it('leaves what it says to the rules, and the rest to the options around them', async () => {
    const app = express5()
    const clock = manualClock()
    app.use(
      rateLimit({
        rules: parseRules(
          "- { match: { path: '/a/*' }, limit: 1, window: 1s, key: 'header:x-key' }\n- { limit: 1, window: 1s }"
        ),
        now: clock.read,
        store: memoryStore(),
        headers: 'draft-08',
        key: 'header:x-other',
        skip: (asked) => asked.headers['x-skip'] === 'yes',
        deny: ['192.0.2.0/24'],
        onLimited: (_request, _response, rateLimit) => ({ key: rateLimit.key })
      })
    )
    app.use((_request, response) => void response.end('ok'))
    const get = (path: string, headers = {}) => request(createServer(app)).get(path).set(headers)
    const first = await get('/a/b', { 'x-key': 'ada' })
    expect([first.status, first.headers['ratelimit-policy']]).toEqual([200, '"1-per-1s";q=1;w=1'])
    expect((await get('/a/c', { 'x-key': 'ada' })).body).toEqual({ key: 'ada' })
    expect((await get('/a/c', { 'x-key': 'ada', 'x-skip': 'yes' })).text).toBe('ok')
    expect((await get('/a/c', { 'x-key': 'bob' })).text).toBe('ok')
    expect((await get('/b', { 'x-other': 'bob' })).text).toBe('ok')
    expect((await get('/b', { 'x-other': 'bob' })).body).toEqual({ key: 'bob' })
    clock.pass(1000)
    expect((await get('/b', { 'x-other': 'bob' })).text).toBe('ok')
  })

  it('gives way to what a route of Fastify says itself', async () => {
    const app = Fastify()
    const rules = parseRules('- { limit: 3, window: 1h, key: path }')
    await app.register(fastifyLimit, { rules, policies: { few: { limit: 2, window: '1h' } } })
    app.get('/plain', () => 'ok')
    app.get('/own', { limit: { limit: 1, window: '1h' } }, () => 'ok')
    app.get('/few', { limit: 'few' }, () => 'ok')
    app.get('/free', { limit: false }, () => 'ok')
    app.get('/ruled', { limit: { rules: parseRules('- { limit: 4, window: 1h }') } }, () => 'ok')
    await app.register(async (inner) => {
      // The rules hold there as well.
      await inner.register(fastifyLimit, { limit: 2, window: '1h' })
      inner.get('/inner', () => 'ok')
    })
    const admitted = async (url: string) => {
      let served = 0
      for (let i = 0; i < 7; i++) if ((await app.inject(url)).statusCode === 200) served++
      return served
    }
    const urls = ['/plain', '/own', '/few', '/free', '/ruled', '/inner']
    const found: number[] = []
    for (const url of urls) found.push(await admitted(url))
    expect(found).toEqual([3, 1, 2, 7, 4, 2])
    expect(app.limiterOf({ method: 'GET', url: '/ruled' }).policies).toEqual([])
    await app.close()
  })

  it('gives way to `@Limit`', async () => {
    class Api {
      plain() {}
      own() {}
      free() {}
    }
    Controller()(Api)
    for (const name of ['plain', 'own', 'free'] as const)
      Get(name)(Api.prototype, name, Object.getOwnPropertyDescriptor(Api.prototype, name)!)
    Limit({ limit: 1, window: '1h' })(
      Api.prototype,
      'own',
      Object.getOwnPropertyDescriptor(Api.prototype, 'own')!
    )
    Limit.skip()(Api.prototype, 'free', Object.getOwnPropertyDescriptor(Api.prototype, 'free')!)
    class App {}
    const rules = parseRules('- { limit: 3, window: 1h, key: path }')
    Module({ imports: [RateLimitModule.forRoot({ rules })], controllers: [Api] })(App)
    const app = (await Test.createTestingModule({ imports: [App] }).compile()).createNestApplication()
    await app.init()
    const found: number[] = []
    for (const path of ['/plain', '/own', '/free', '/unknown']) {
      let limited = 0
      for (let i = 0; i < 5; i++) if ((await request(app.getHttpServer()).get(path)).status === 429) limited++
      found.push(limited)
    }
    expect(found).toEqual([2, 4, 0, 2])
    await app.close()
  })
})
