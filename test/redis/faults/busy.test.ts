import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { rateLimit } from '../../../src/express/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { freshPrefix, servers } from '../support/stores.js'
import { clientNamed, limiterOn, noUnhandledRejections } from './outage.js'

/*
 * A process that is busy, and a Redis that is not. However long the event loop is held up, that says nothing of the
 * server.
 */

const cleanup: (() => unknown)[] = []

noUnhandledRejections()
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean()
})

async function connect(name: string) {
  const connected = await clientNamed(name).connectSingle(servers!.single)
  cleanup.push(connected.close)
  return connected
}

function blockFor(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

/** A turn of the event loop, which the poll for input is part of. */
const turn = () => new Promise((next) => setImmediate(next))

describe.skipIf(servers === null).each(['ioredis 6', 'node-redis 6'])('a busy event loop: %s', (name) => {
  it('is no outage where each request holds it up for longer than the deadline', async () => {
    const { limiter, states } = limiterOn((await connect(name)).client)
    const sources: (string | undefined)[] = []
    const asked: Promise<void>[] = []
    for (let i = 0; i < 12; i++) {
      const decision = limiter.consume(`key ${i}`).then(({ source }) => void sources.push(source))
      asked.push(decision)
      blockFor(150)
      await turn()
    }
    await Promise.all(asked)
    expect(sources).toEqual(Array(12).fill('store'))
    expect(states).toEqual([])
  })

  it('is no outage for a burst in one turn', async () => {
    const { limiter, states } = limiterOn((await connect(name)).client)
    const decisions = await Promise.all(Array.from({ length: 5000 }, (_, i) => limiter.consume(`key ${i}`)))
    expect(decisions.filter(({ source }) => source !== 'store').length).toBe(0)
    expect(states).toEqual([])
  })

  it('is no outage where a client takes some turns to hand a reply on', async () => {
    const { command } = await connect(name)
    const slow = async (words: readonly string[]) => {
      const reply = await command(...words)
      for (let i = 0; i < 4; i++) await turn()
      return reply
    }
    const { limiter, states } = limiterOn(slow)
    const sources: (string | undefined)[] = []
    for (let i = 0; i < 3; i++) {
      const decision = limiter.consume('key')
      const busy = setInterval(() => blockFor(150), 1)
      sources.push((await decision).source)
      clearInterval(busy)
    }
    expect(sources).toEqual(Array(3).fill('store'))
    expect(states).toEqual([])
  })

  it('is no outage for fifty connections to handlers that work for 10 ms', async () => {
    const store = redisStore((await connect(name)).client as never, { prefix: freshPrefix() })
    const sources: (string | undefined)[] = []
    const app = express()
    app.use(rateLimit({ limit: 1000, window: '1h', store }))
    app.get('/', (req, res) => {
      sources.push(req.rateLimit!.source)
      blockFor(10)
      res.end()
    })
    const server = createServer(app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    cleanup.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const ask = async () => {
      const [response] = await once(get({ port, host: '127.0.0.1', agent: false }), 'response')
      await once(response.resume(), 'end')
    }
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        for (let i = 0; i < 3; i++) await ask()
      })
    )
    expect(sources).toEqual(Array(150).fill('store'))
    expect(store.isAvailable).toBe(true)
  })

  it('keeps no decision waiting for a server that does hang', async () => {
    const hanging = () => new Promise(() => {})
    const { limiter } = limiterOn(hanging)
    let isOver = false
    const asked = limiter.consume('key').then(({ source }) => {
      isOver = true
      return source
    })
    let turns = 0
    for (; !isOver && turns < 100; turns++) {
      blockFor(30)
      await turn()
    }
    expect(await asked).toBe('local')
    expect(turns).toBeLessThan(30)
  })
})

describe('a lease that does not come', () => {
  it('costs those who wait for it no more than one deadline', async () => {
    let calls = 0
    const late = async (words: readonly string[]) => {
      if (words[0] === 'INFO') return ''
      calls++
      if (calls <= 1) return [1, Date.now(), 1, 1000, 1000]
      // The lease uses up most of the deadline and has nothing to spare; what is asked after it is never answered.
      if (calls > 2) return new Promise(() => {})
      return new Promise((resolve) => setTimeout(() => resolve([1, Date.now(), 1, 1000, 1000]), 80))
    }
    const { limiter, ask } = limiterOn(late, {}, { lease: 50 })
    await limiter.consume('key')
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(answers.map(({ source }) => source)).toEqual(['store', 'local', 'local'])
    for (const { ms } of answers) expect(ms).toBeLessThan(150)
  })
})
