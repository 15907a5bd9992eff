import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import Fastify from 'fastify'
import request from 'supertest'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import fastify from '../../src/fastify/index.js'
import { forgetWarnings, turns } from './behaviour/harness.js'

const heard: (string | undefined)[] = []
const hear = (warning: Error & { code?: string }) => void heard.push(warning.code)
const minute = { limit: 9, window: '1m' } as const
const forwarded = { 'X-Forwarded-For': '203.0.113.9' }

beforeEach(() => {
  heard.length = 0
  forgetWarnings()
  process.on('warning', hear)
})

afterEach(async () => {
  await turns()
  process.off('warning', hear)
})

async function said(): Promise<(string | undefined)[]> {
  await turns()
  return heard.splice(0)
}

/** An app with so many limiters, each made by `make`. */
function appOf(count: number, trust?: unknown, make: typeof rateLimit = rateLimit) {
  const app = express()
  if (trust !== undefined) app.set('trust proxy', trust)
  for (let i = 0; i < count; i++) app.use(make({ ...minute, name: `limit-${i}` }))
  app.use((_request, response) => void response.end('ok'))
  return app
}

describe('a proxy setting that cannot work', () => {
  it('is warned of once, however many limiters, requests and apps have it', async () => {
    for (const app of [appOf(5), appOf(1)])
      for (let i = 0; i < 2; i++) await request(app).get('/').set(forwarded)
    expect(await said()).toEqual(['HEADGATE_UNTRUSTED_PROXY'])
  })

  it('is warned of once for each setting', async () => {
    for (const trust of [undefined, true, 1, '1', undefined, true, 1, '1'])
      await request(appOf(2, trust)).get('/').set(forwarded)
    expect(await said()).toEqual([
      'HEADGATE_UNTRUSTED_PROXY',
      'HEADGATE_TRUSTS_ANYBODY',
      'HEADGATE_TRUST_BY_COUNT',
      'HEADGATE_TRUST_BY_COUNT'
    ])
  })

  it('is warned of once by two copies of the package', async () => {
    vi.resetModules()
    const copy = await import('../../src/express/index.js')
    expect(copy.rateLimit).not.toBe(rateLimit)
    for (const make of [rateLimit, copy.rateLimit])
      await request(appOf(1, undefined, make))
        .get('/')
        .set(forwarded)
    expect(await said()).toEqual(['HEADGATE_UNTRUSTED_PROXY'])
  })

  it('is warned of once at the start of several Fastify servers', async () => {
    for (let i = 0; i < 3; i++) {
      const app = Fastify({ trustProxy: '1' })
      await app.register(fastify, minute)
      await app.ready()
      await app.close()
    }
    expect(await said()).toEqual(['HEADGATE_TRUST_BY_COUNT'])
  })
})

describe('where the peer is no socket', () => {
  it('nothing is said of proxies for injected requests, and it is for real ones', async () => {
    const app = Fastify()
    await app.register(fastify, minute)
    app.get('/', async () => 'ok')
    await app.inject({ url: '/', headers: forwarded, remoteAddress: '198.51.100.1' })
    expect(await said()).toEqual([])
    await fetch(await app.listen({ port: 0, host: '127.0.0.1' }), { headers: forwarded })
    expect(await said()).toEqual(['HEADGATE_UNTRUSTED_PROXY'])
    await app.close()
  })

  it.each([undefined, true, 1])(
    'nothing is said in a serverless function, whose adapter gives the address of the client (trust proxy %s)',
    async (trust) => {
      const app = appOf(2, trust)
      await turns()
      const socket = Object.assign(new EventEmitter(), {
        encrypted: true,
        readable: false,
        remoteAddress: '198.51.100.1',
        address: () => ({ port: 443 }),
        destroy() {}
      })
      const message = Object.assign(new IncomingMessage(socket as never), {
        method: 'GET',
        url: '/',
        headers: { 'x-forwarded-for': '203.0.113.9' }
      })
      const response = new ServerResponse(message)
      response.assignSocket(
        Object.assign(new EventEmitter(), {
          writable: true,
          write: () => true,
          cork() {},
          uncork() {},
          end() {},
          destroy() {}
        }) as never
      )
      app(message as never, response as never)
      expect(response.getHeader('RateLimit-Remaining')).toBe('8')
      expect(await said()).toEqual([])
    }
  )

  it('a client without an address is still warned of, once', async () => {
    const limit = rateLimit(minute)
    const other = rateLimit(minute)
    for (let i = 0; i < 3; i++) {
      const message = Object.assign(new IncomingMessage({} as never), { method: 'GET', url: '/' })
      for (const one of [limit, other]) one(message, new ServerResponse(message), () => {})
    }
    expect(await said()).toEqual(['HEADGATE_NO_ADDRESS'])
  })
})
