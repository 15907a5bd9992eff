import { Controller, Get } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { rateLimit as express } from '../../src/express/index.js'
import { rateLimit as fastify } from '../../src/fastify/index.js'
import { createLimiter, Limit, limitsOf, memoryStore } from '../../src/index.js'
import { Limit as NestLimit, RateLimitModule } from '../../src/nest/index.js'
import type { RemoteStoreOptions } from '../../src/remote/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { lockingStore } from '../remote/locking-store.js'

const rule = { limit: 10, window: '1m' }
const remote = (options: RemoteStoreOptions = {}) => lockingStore(Date.now, options)

type Options = Readonly<Record<string, unknown>>

function inTiers({ strategy, align, burst, delayAfter, ...settings }: Options): unknown {
  return createLimiter({ limits: [{ ...rule, strategy, align, burst, delayAfter }], ...settings } as never)
}

/** A class with one handler, under this limit. */
function catsWith(limit: typeof NestLimit | typeof Limit, options: Options, ofClass?: Options) {
  class Cats {
    list() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Cats.prototype, 'list')!
  Get()(Cats.prototype, 'list', descriptor)
  limit(options as never)(Cats.prototype, 'list', descriptor)
  Controller()(Cats)
  if (ofClass !== undefined) limit(ofClass as never)(Cats)
  return Cats
}

async function onFastify(plugin: Options, route?: Options): Promise<void> {
  const app = Fastify()
  app.register(fastify, plugin as never)
  if (route !== undefined) app.get('/', { limit: route as never }, async () => '')
  await app.ready()
  await app.close()
}

async function onNest(module: Options, handler?: Options, ofClass?: Options): Promise<void> {
  const controllers = handler === undefined ? [] : [catsWith(NestLimit, handler, ofClass)]
  const imports = [RateLimitModule.forRoot(module as never)]
  const app = (await Test.createTestingModule({ imports, controllers }).compile()).createNestApplication()
  app.useLogger(false)
  await app.init()
  await app.close()
}

const places: readonly (readonly [string, (options: Options) => unknown])[] = [
  ['createLimiter', (options) => createLimiter({ ...rule, ...options } as never)],
  ['several limits', inTiers],
  ['Express', (options) => express({ ...rule, ...options } as never)],
  ['the Fastify plugin', (options) => onFastify({ ...rule, ...options })],
  ['a Fastify route', (options) => onFastify(rule, { ...rule, ...options })],
  ['a Fastify policy', (options) => onFastify({ policies: { login: { ...rule, ...options } } })],
  ['the NestJS module', (options) => onNest({ ...rule, ...options })],
  ['a NestJS handler', (options) => onNest(rule, { ...rule, ...options })],
  ['a NestJS policy', (options) => onNest({ policies: { login: { ...rule, ...options } } })],
  ['a plain class', (options) => limitsOf(catsWith(Limit, { ...rule, ...options }), express as never)]
]

const idle: readonly (readonly [string, Options])[] = [
  ['onStoreError', { onStoreError: 'deny' }],
  ['share', { share: 1 / 4 }],
  ['lease', { lease: 5 }],
  ['share', { share: 1 / 4, store: memoryStore() }],
  ['onStoreError', { onStoreError: 'local', store: sharedStore() }],
  ['lease', { lease: 5, store: sharedStore() }],
  ['share', { share: 1 / 4, onStoreError: 'allow', store: remote() }],
  ['share', { share: 1 / 4, store: remote({ onStoreError: 'deny' }) }],
  ['delayAfter', { strategy: 'leaky-bucket', delayAfter: 2 }],
  ['align', { strategy: 'gcra', align: 'clock' }],
  ['burst', { strategy: 'sliding-log', burst: 20 }]
]

describe.each(places)('at %s', (_place, make) => {
  it.each(idle)('%s that does nothing is refused with the reason: %o', async (option, options) => {
    await expect(Promise.resolve().then(() => make(options))).rejects.toMatchObject({
      code: 'HEADGATE_BAD_OPTION',
      message: expect.stringMatching(new RegExp(`\`${option}\` is .*: .*(leave it out|give both)`))
    })
  })

  it('those with a meaning are taken', async () => {
    const options = { share: 1 / 4, onStoreError: 'local', lease: 5, store: remote() }
    await make(options)
  })
})

describe('what belongs to the store of a plugin or module', () => {
  const outer = () => ({ ...rule, store: remote(), share: 1 / 4, lease: 5, onStoreError: 'local' })
  const own = { limit: 5, window: '1s' }
  const inProcess = { ...own, store: memoryStore() }
  const denying = { ...own, onStoreError: 'deny' }

  it('is not inherited by who has another store, or does not count in an outage', async () => {
    await onFastify(outer(), inProcess)
    await onFastify(outer(), denying)
    await onFastify({ ...outer(), policies: { a: inProcess, b: denying } })
    await onNest(outer(), inProcess)
    await onNest(outer(), denying)
    await onNest(outer(), { limit: 5, window: '1s' }, inProcess)
    await onNest({ ...outer(), policies: { a: inProcess, b: denying } })
    limitsOf(catsWith(Limit, inProcess, outer()), express as never)
  })

  it('nor is a partition key by who has another style', async () => {
    const drafted = { ...rule, headers: 'draft-11', partitionKey: 'a secret of some length' }
    await onFastify(drafted, { ...own, headers: 'none' })
    await onNest(drafted, { ...own, headers: 'draft-07' })
    limitsOf(catsWith(Limit, { ...own, headers: 'none' }, drafted), express as never)
  })

  it('is refused all the same where a route writes it itself', async () => {
    await expect(onFastify(outer(), { ...inProcess, share: 1 / 2 })).rejects.toThrow('`share`')
    await expect(onNest(outer(), { ...denying, share: 1 / 2 })).rejects.toThrow('`share`')
  })
})

describe('a lease', () => {
  it('of a limit that is a function is taken, whatever stands for the limit', () => {
    const options = { limit: () => 100, window: '1m', lease: 5, store: remote() }
    expect(() => express(options as never)).not.toThrow()
    expect(() => express({ ...options, limit: 100, window: () => '1m' } as never)).not.toThrow()
  })
})
