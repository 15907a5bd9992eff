import Fastify, { type FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, it, vi } from 'vitest'

type Plugin = typeof import('../../src/fastify/index.js')['default']

const handler = async () => 'ok'
const of = (limit: number) => ({ limit, window: '1d' })
const misuse = expect.objectContaining({ code: 'HEADGATE_MISUSE' })

/** Another copy of the package, as a bundler or a test runner loads it. */
async function copy(): Promise<Plugin> {
  vi.resetModules()
  return (await import('../../src/fastify/index.js')).default
}

async function statuses(app: FastifyInstance, ...paths: string[]): Promise<number[]> {
  const found: number[] = []
  for (const path of paths) found.push((await app.inject(path)).statusCode)
  return found
}

let first: Plugin
let second: Plugin
let third: Plugin

beforeAll(async () => {
  first = await copy()
  second = await copy()
  third = await copy()
})

it('copies are copies', () => {
  expect(new Set([first, second, third]).size).toBe(3)
})

describe('PKG-07: copies of the package in one process', () => {
  it.each([1, 2, 3])('each limits servers of its own, number %i', async (number) => {
    const plugin = [first, second, third][number - 1]!
    const app = Fastify()
    app.get('/before', { limit: of(1) }, handler)
    app.register(plugin, { ...of(3), policies: { login: of(1) } })
    app.get('/own', { limit: of(1) }, handler)
    app.get('/named', { limit: 'login' }, handler)
    app.get('/off', { limit: false }, handler)
    app.get('/', handler)
    expect(await statuses(app, '/before', '/before', '/own', '/own')).toEqual([200, 429, 200, 429])
    expect(await statuses(app, '/named', '/named', '/off', '/off')).toEqual([200, 429, 200, 200])
    expect(await statuses(app, '/', '/', '/', '/')).toEqual([200, 200, 200, 429])
  })

  it('do not judge servers without a plugin', async () => {
    const app = Fastify()
    app.get('/', { limit: of(1) }, handler)
    expect(await statuses(app, '/', '/')).toEqual([200, 200])
  })

  it('still refuse a limit that nothing reads where one of them is registered', async () => {
    for (const plugin of [first, second, third]) {
      const app = Fastify()
      app.register(async (child) => void child.register(plugin))
      app.get('/', { limit: of(1) }, handler)
      await expect(Promise.resolve(app.ready())).rejects.toThrow(misuse)
    }
  })

  it('read the routes of the scopes in which they are registered, beside each other', async () => {
    const app = Fastify()
    for (const [name, plugin] of Object.entries({ first, second, third }))
      app.register(
        async (child) => {
          child.register(plugin, of(2))
          child.get('/', handler)
          child.get('/own', { limit: of(1) }, handler)
        },
        { prefix: `/${name}` }
      )
    for (const name of ['first', 'second', 'third'])
      expect(
        await statuses(app, `/${name}/own`, `/${name}/own`, `/${name}/`, `/${name}/`, `/${name}/`)
      ).toEqual([200, 429, 200, 200, 429])
  })

  it.each([false, true])('inherit from each other, the outer loading last: %s', async (isLast) => {
    const app = Fastify()
    const outer = () => app.register(first, { statusCode: 503, policies: { login: of(1) } })
    if (!isLast) outer()
    app.register(async (child) => {
      child.register(second, of(2))
      child.get('/', handler)
      child.get('/named', { config: { limit: 'login' } }, handler)
      child.get('/off', { limit: false }, handler)
      child.get('/late', { limit: { ...of(1), key: 'user' } }, handler)
    })
    if (isLast) outer()
    app.get('/out', { limit: 'login' }, handler)
    expect(await statuses(app, '/', '/', '/', '/off', '/off', '/off')).toEqual([200, 200, 503, 200, 200, 200])
    expect(await statuses(app, '/named', '/out', '/late', '/late')).toEqual([200, 503, 200, 503])
  })
})

describe('a copy that is loaded after the server was made', () => {
  it('reads the routes that there are, as an earlier one has seen them', async () => {
    const app = Fastify()
    app.get('/', { limit: of(1) }, handler)
    const late = await copy()
    app.register(late)
    expect(await statuses(app, '/', '/')).toEqual([200, 429])
  })
})
