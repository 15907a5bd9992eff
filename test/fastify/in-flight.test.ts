import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import rateLimit from '../../src/fastify/index.js'
import { Client } from '../http/behaviour/client.js'
import { gate, turns, until } from '../http/behaviour/harness.js'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function listening(app: FastifyInstance): Promise<number> {
  open.push(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

function client(port: number): Client {
  const made = new Client({ port })
  open.push(() => made.close())
  return made
}

const free = async (app: FastifyInstance) => (await app.limiterOf('default').peek('k')).remaining

describe('what is in flight on Fastify', () => {
  it('a websocket is for as long as its socket lives', async () => {
    const app = Fastify()
    await app.register(websocket)
    await app.register(rateLimit, { concurrency: 1, key: () => 'k' })
    app.get('/ws', { websocket: true }, (socket) => {
      socket.on('message', (message) => socket.send(String(message)))
    })
    const port = await listening(app)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`)
    await once(socket, 'open')
    socket.send('hello')
    await once(socket, 'message')
    expect(await free(app)).toBe(0)
    const second = new WebSocket(`ws://127.0.0.1:${port}/ws`)
    const [, answer] = await once(second, 'unexpected-response')
    expect(answer.statusCode).toBe(429)
    answer.destroy()
    socket.close()
    let isFree = false
    await until(() => {
      void free(app).then((count) => {
        isFree = count === 1
      })
      return isFree
    })
  })

  it('`app.close` answers those who wait at once', async () => {
    const app = Fastify()
    await app.register(rateLimit, {
      key: () => 'k',
      policies: { slow: { concurrency: 1, queue: 5, maxWait: '1m' } }
    })
    const held = gate()
    let begun = 0
    app.get('/', { limit: 'slow' }, async () => {
      begun++
      await held.promise
      return 'ok'
    })
    app.get('/other', async () => 'ok')
    const asking = client(await listening(app))
    const first = asking.get()
    await until(() => begun === 1)
    const waits = asking.get()
    await asking.get('/other')
    await turns()
    const closing = app.close()
    expect((await waits).status).toBe(503)
    held.open()
    expect((await first).status).toBe(200)
    asking.close()
    await closing
    expect(begun).toBe(1)
  })

  it('a route inherits what its limit leaves out, and no window', async () => {
    const app = Fastify()
    await app.register(rateLimit, { limit: 100, window: '1m', key: () => 'k', headers: 'draft-11' })
    app.get('/own', { limit: { concurrency: 3 } }, async () => 'ok')
    app.get('/plugin', async () => 'ok')
    const asking = client(await listening(app))
    expect((await asking.get('/own')).headers['ratelimit-policy']).toBe(
      '"default";q=3;qu="concurrent-requests"'
    )
    expect((await asking.get('/plugin')).headers['ratelimit-policy']).toBe('"default";q=100;w=60')
  })
})
