import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import fastifyLimit from '../../src/fastify/index.js'
import { redisStore } from '../../src/redis/index.js'
import { loadRules } from '../../src/rules/index.js'
import { freshPrefix, servers } from './support/stores.js'

describe.skipIf(servers === null)('rules on Redis', () => {
  let client: Redis
  const folder = mkdtempSync(join(tmpdir(), 'headgate-rules-'))
  beforeAll(() => {
    client = new Redis(servers!.single)
  })
  afterAll(() => {
    client?.disconnect()
    rmSync(folder, { recursive: true })
  })

  it('count together in all instances, and go on through changes of the rest of the file', async () => {
    const file = join(folder, 'limits.yaml')
    const kept = '- { match: { path: /a }, limit: 5, window: 1d, strategy: sliding-log }\n'
    writeFileSync(file, `${kept}- { limits: [{ limit: 9, window: 1d }, { limit: 99, window: 7d }] }\n`)
    const prefix = freshPrefix()
    const instance = async () => {
      const app = Fastify()
      const rules = loadRules(file)
      await app.register(fastifyLimit, { rules, store: redisStore(client, { prefix, deadline: '10s' }) })
      app.get('/*', () => 'ok')
      const left = async (url: string) => Number((await app.inject(url)).headers['ratelimit-remaining'])
      return { rules, left }
    }
    const [first, second] = [await instance(), await instance()]
    expect([await first.left('/a'), await second.left('/a'), await first.left('/b')]).toEqual([4, 3, 8])
    writeFileSync(
      file,
      `- { match: { path: /c }, limit: 3, window: 1d }\n${kept}- { limit: 20, window: 1d }\n`
    )
    first.rules.reload()
    expect([await first.left('/a'), await first.left('/b'), await first.left('/c')]).toEqual([2, 19, 2])
    // The other instance has the file of before.
    expect([await second.left('/a'), await second.left('/b')]).toEqual([1, 7])
  })
})
