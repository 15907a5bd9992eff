import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import fastifyLimit from '../../src/fastify/index.js'
import { parseRules } from '../../src/rules/index.js'

describe('functions around rules', () => {
  it('may be awaited, and in-flight rules are released', async () => {
    const app = Fastify()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await app.register(fastifyLimit, {
      rules: parseRules(`
match: all
rules:
  - { match: { path: /slow }, concurrency: 1, key: path }
  - { limit: 4, window: 1h }
`),
      skip: async (request) => request.headers['x-skip'] !== undefined
    })
    app.get('/slow', async (request) => {
      if (request.headers['x-hold'] !== undefined) await held
      return 'ok'
    })
    const get = (headers = {}) => app.inject({ url: '/slow', headers }).then(({ statusCode }) => statusCode)
    const first = get({ 'x-hold': '1' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(await get()).toBe(429)
    expect(await get({ 'x-skip': '1' })).toBe(200)
    release()
    expect(await first).toBe(200)
    expect([await get(), await get(), await get(), await get()]).toEqual([200, 200, 200, 429])
  })
})
