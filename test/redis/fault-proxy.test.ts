import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { type FaultProxy, startProxy } from './support/fault-proxy.js'
import { ask } from './support/servers.js'
import { until } from './support/until.js'

const redis = inject('redis')
const key = 'fault-proxy:count'

describe.skipIf(redis === null)('a proxy with faults', () => {
  let proxy: FaultProxy
  let socket: Socket
  let received: string

  beforeEach(async () => {
    await ask(redis!.single, 'DEL', key)
    proxy = await startProxy(redis!.single)
    socket = await open()
    received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
  })

  afterEach(async () => {
    socket.destroy()
    await proxy.stop()
  })

  async function open(): Promise<Socket> {
    const opened = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true })
    await once(opened, 'connect')
    // Later on, an error is what some faults are for.
    return opened.on('error', () => {})
  }

  const increment = () => socket.write(`INCR ${key}\r\n`)
  const counted = () => ask(redis!.single, 'GET', key)
  const receives = (replies: string) => until(`the client has ${replies}`, () => received === replies)

  it('passes', async () => {
    increment()
    await receives(':1\r\n')
    expect(proxy.connections).toBe(1)
    expect(proxy.swallowed).toEqual({ requests: 0, replies: 0, delayed: 0, halfClosed: 0, cut: 0 })
  })

  it('drops requests, until it passes', async () => {
    proxy.drop('requests')
    increment()
    await until('the request is swallowed', () => proxy.swallowed.requests === `INCR ${key}\r\n`.length)
    expect(await counted()).toBe(null)
    await proxy.pass()
    increment()
    await receives(':1\r\n')
  })

  it('drops replies to what the server executes', async () => {
    proxy.drop('replies')
    increment()
    await until('the reply is swallowed', () => proxy.swallowed.replies === ':1\r\n'.length)
    expect(await counted()).toBe('1')
    await proxy.pass()
    increment()
    await receives(':2\r\n')
  })

  it('delays either way, in order', async () => {
    for (const way of ['requests', 'replies'] as const) {
      received = ''
      const { delayed } = proxy.swallowed
      const start = performance.now()
      proxy.delay(way, 60)
      socket.write(`SET ${key} 1\r\n`)
      await until('it is held back', () => proxy.swallowed.delayed > delayed)
      expect(await counted()).toBe(way === 'requests' ? null : '1')
      proxy.delay(way, 0)
      increment()
      await receives('+OK\r\n:2\r\n')
      expect(performance.now() - start).toBeGreaterThan(59)
      await ask(redis!.single, 'DEL', key)
    }
  })

  it('closes one side', async () => {
    proxy.halfClose('client')
    await once(socket, 'end')
    increment()
    await until('the server has the request', async () => (await counted()) === '1')
    expect(proxy.swallowed.halfClosed).toBe(1)
    expect(received).toBe('')
  })

  it('closes the side of the server, which then closes the other', async () => {
    proxy.halfClose('server')
    await once(socket, 'end')
    expect(await counted()).toBe(null)
  })

  it('cuts all connections, and takes new ones', async () => {
    const failed = once(socket, 'error')
    proxy.cut()
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
    expect(proxy).toMatchObject({ connections: 0, swallowed: { cut: 1 } })
    expect(await ask(proxy.port, 'PING')).toBe('PONG')
  })

  it('refuses new connections, until it passes', async () => {
    await proxy.refuse()
    await expect(ask(proxy.port, 'PING')).rejects.toThrow('ECONNREFUSED')
    increment()
    await receives(':1\r\n')
    await proxy.pass()
    expect(await ask(proxy.port, 'PING')).toBe('PONG')
  })

  it('stops', async () => {
    const failed = once(socket, 'error')
    await proxy.stop()
    await failed
    await expect(ask(proxy.port, 'PING')).rejects.toThrow('ECONNREFUSED')
  })
})
