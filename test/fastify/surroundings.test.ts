import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import rateLimit from '../../src/fastify/index.js'
import { compiled } from '../http/behaviour/compiled.js'
import { start } from '../http/behaviour/harness.js'

const base = { window: '1m', now: () => start } as const
const of = (limit: number, more: object = {}) => ({ limit, ...base, ...more })
const handler = async () => 'ok'

const open: FastifyInstance[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function listening<T extends FastifyInstance>(app: T): Promise<number> {
  open.push(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

describe('websockets', () => {
  /** 101 and the socket, or the status that the upgrade was refused with. */
  function upgrade(port: number, path = '/ws'): Promise<WebSocket | number> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
    return new Promise((resolve, reject) => {
      socket.on('open', () => resolve(socket))
      socket.on('unexpected-response', (request, response) => {
        request.destroy()
        resolve(response.statusCode!)
      })
      socket.on('error', reject)
    })
  }

  it.each(['plugin', 'route', 'hook'] as const)(
    'FST-12: an upgrade is limited before the handshake (%s)',
    async (where) => {
      const app = Fastify()
      let reached = 0
      await app.register(websocket)
      await app.register(rateLimit, where === 'plugin' ? of(1) : {})
      await app.register(async (scope) => {
        const options =
          where === 'route' ? { limit: of(1) } : where === 'hook' ? { onRequest: app.limit(of(1)) } : {}
        scope.get('/ws', { websocket: true, ...options }, (socket) => {
          reached++
          socket.on('message', (message) => socket.send(String(message)))
        })
      })
      const port = await listening(app)
      const socket = (await upgrade(port)) as WebSocket
      expect(socket).toBeInstanceOf(WebSocket)
      expect(await upgrade(port)).toBe(429)
      let echoed = 0
      socket.on('message', () => echoed++)
      for (let i = 0; i < 50; i++) socket.send(String(i))
      while (echoed < 50) await once(socket, 'message')
      expect(await upgrade(port)).toBe(429)
      expect(reached).toBe(1)
      socket.terminate()
    }
  )

  it('FST-12: held clients of a leaky bucket are upgraded when their turn comes', async () => {
    const app = Fastify()
    await app.register(websocket)
    await app.register(rateLimit, {
      limit: 1,
      window: 10,
      strategy: 'leaky-bucket',
      burst: 1,
      now: () => start
    })
    await app.register(async (scope) => void scope.get('/ws', { websocket: true }, () => {}))
    const port = await listening(app)
    const sockets = await Promise.all([upgrade(port), upgrade(port)])
    for (const socket of sockets) {
      expect(socket).toBeInstanceOf(WebSocket)
      ;(socket as WebSocket).terminate()
    }
    expect(await upgrade(port)).toBe(429)
  })
})

describe('proxies', () => {
  const forwarded = (address: string) => ({ url: '/', headers: { 'x-forwarded-for': address } })
  const statuses = async (trustProxy: unknown) => {
    const warnings: string[] = []
    const hear = (warning: Error & { code?: string }) => {
      if (warning.name === 'HeadgateWarning') warnings.push(warning.message)
    }
    process.on('warning', hear)
    const app = Fastify({ trustProxy: trustProxy as string[] })
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    await app.ready()
    await new Promise((resolve) => setImmediate(resolve))
    const atStart = warnings.length
    const found: number[] = []
    for (const address of ['203.0.113.1', '203.0.113.9'])
      found.push((await app.inject(forwarded(address))).statusCode)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    return { found, atStart, warnings }
  }

  it('KEY-24: a number of hops is shared and restrictive, with a hint at start-up', async () => {
    const { found, atStart, warnings } = await statuses(1)
    expect(found).toEqual([200, 429])
    expect(atStart).toBe(1)
    expect(warnings[0]).toContain('trustProxy')
    expect(warnings).toHaveLength(1)
  })

  it('KEY-24: a list of addresses is heeded, without one', async () => {
    expect(await statuses(['127.0.0.1'])).toEqual({ found: [200, 200], atStart: 0, warnings: [] })
  })

  it('a trust function is asked with the address of each hop', async () => {
    const asked: unknown[] = []
    const trustProxy = (address: string, hop: number) => {
      asked.push([address, hop])
      return address === '127.0.0.1' || address === '10.0.0.1'
    }
    const app = Fastify({ trustProxy })
    let key: unknown
    await app.register(rateLimit, of(9))
    app.get('/', async (request) => {
      key = request.rateLimit!.key
      return 'ok'
    })
    await app.inject(forwarded('198.51.100.1, 203.0.113.9, 10.0.0.1'))
    expect(key).toBe('203.0.113.9')
    expect(asked).toContainEqual(['10.0.0.1', 1])
    await app.inject({ ...forwarded('198.51.100.1'), remoteAddress: '198.51.100.200' })
    expect(key).toBe('198.51.100.200')
  })

  it('agrees with request.ip on what Fastify trusts', async () => {
    const app = Fastify({ trustProxy: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'] })
    const seen: [string, string][] = []
    await app.register(rateLimit, of(999, { ipv6Subnet: false }))
    app.get('/', async (request) => {
      seen.push([request.rateLimit!.key, request.ip])
      return 'ok'
    })
    for (const chain of [
      '203.0.113.9',
      '203.0.113.9, 10.0.0.1',
      '198.51.100.1, 203.0.113.9, 10.0.0.1, 10.2.3.4',
      '10.0.0.1',
      '10.0.0.9, 10.0.0.1',
      '2001:db8::1, fd00::1',
      '203.0.113.9, 198.51.100.2, 10.0.0.1'
    ])
      await app.inject(forwarded(chain))
    for (const [key, ip] of seen) expect(key).toBe(ip)
    expect(seen).toHaveLength(7)
  })
})

describe('the server', () => {
  it('http2: limits, with the same fields', async () => {
    const app = Fastify({ http2: true })
    await app.register(rateLimit, of(1, { countOnly: 'successes' }) as never)
    app.get('/', handler)
    const port = await listening(app as unknown as FastifyInstance)
    const session = connect(`http://127.0.0.1:${port}`)
    const ask = async () => {
      const stream = session.request({ ':path': '/' })
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
      stream.resume()
      await once(stream, 'end')
      return [headers[':status'], headers['ratelimit-remaining'], headers['retry-after']]
    }
    expect(await ask()).toEqual([200, '0', undefined])
    expect(await ask()).toEqual([429, '0', '60'])
    session.destroy()
  })

  it('CON-01: 200 at once through inject', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(5))
    app.get('/', handler)
    const answers = await Promise.all(Array.from({ length: 200 }, () => app.inject('/')))
    const admitted = answers.filter(({ statusCode }) => statusCode === 200)
    expect(admitted.map(({ headers }) => headers['ratelimit-remaining']).sort()).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4'
    ])
  })

  /** What a process prints that runs a module; it must end by itself. */
  async function printed(script: (plugin: string) => string): Promise<string> {
    const { url, remove } = compiled()
    try {
      const child = execFile(
        process.execPath,
        ['--input-type=module', '-e', script(url('fastify/index.js'))],
        {
          timeout: 30_000
        }
      )
      let output = ''
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('data', (text) => {
          output += text
        })
      const [code, signal] = await once(child, 'exit')
      expect([code, signal, output]).toEqual([0, null, expect.any(String)])
      return output.trim()
    } finally {
      remove()
    }
  }

  it('MEM-04: after requests, a held one that is given up among them, and close() the process exits by itself', async () => {
    const output = await printed(
      (plugin) => `
      const { default: Fastify } = await import('fastify')
      const { default: rateLimit } = await import('${plugin}')
      const app = Fastify()
      const slow = { limit: 1, window: '1d', strategy: 'leaky-bucket', burst: 1 }
      await app.register(rateLimit, { limit: 1, window: '1d', policies: { slow } })
      app.get('/', async () => 'ok')
      app.get('/slow', { limit: 'slow' }, async () => 'ok')
      const address = await app.listen({ port: 0, host: '127.0.0.1' })
      const { status } = await fetch(address)
      await fetch(address + '/slow')
      const leaving = new AbortController()
      setTimeout(() => leaving.abort(), 30)
      await fetch(address + '/slow', { signal: leaving.signal }).catch(() => {})
      await app.close()
      console.log(status)`
    )
    expect(output).toBe('200')
  })

  it('FST-02: on a server that was made before the plugin was loaded, start-up says which routes’ limits it does not see', async () => {
    const output = await printed(
      (plugin) => `
      const { default: Fastify } = await import('fastify')
      const app = Fastify()
      const { default: rateLimit } = await import('${plugin}')
      app.register(rateLimit, { limit: 99, window: '1d' })
      app.get('/own', { limit: { limit: 1, window: '1d' } }, async () => 'ok')
      app.get('/config', { config: { limit: { limit: 1, window: '1d' } } }, async () => 'ok')
      await app.ready()`
    )
    expect(output).toContain('[HEADGATE_UNSEEN_ROUTES]')
    expect(output).toContain('a `limit` of /own, /config is not seen')
  })
})
