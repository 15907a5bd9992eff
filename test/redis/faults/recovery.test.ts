import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, type Server, startSingle } from '../support/servers.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'
import { clientNamed, limiterOn, noUnhandledRejections } from './outage.js'

noUnhandledRejections()

/** How long another client waits for the answer to a PING, at the worst, ms: one with a thread of its own. */
function otherClient(port: number): () => Promise<number> {
  const thread = new Worker(
    `const { parentPort, workerData: port } = require('node:worker_threads')
    const socket = require('node:net').connect({ port, host: '127.0.0.1', noDelay: true })
    let worst = 0, begun = 0
    const ping = () => { begun = performance.now(); socket.write('PING\\r\\n') }
    socket.on('connect', ping)
    socket.on('data', () => {
      worst = Math.max(worst, performance.now() - begun)
      setTimeout(ping, 1)
    })
    parentPort.on('message', () => { socket.destroy(); parentPort.postMessage(worst) })`,
    { eval: true, workerData: port }
  )
  return async () => {
    thread.postMessage('end')
    const [worst] = await once(thread, 'message')
    await thread.terminate()
    return worst as number
  }
}

/** The script calls that took the server longer than 5 ms of its own time, and how many there were. */
async function slowCalls(port: number) {
  const slow = await ask(port, 'SLOWLOG', 'LEN')
  const stats = String(await ask(port, 'INFO', 'commandstats'))
  return { slow: Number(slow), all: Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)![1]) }
}

describe.skipIf(servers === null)('a server that is killed and comes back empty', () => {
  let server: Server
  const cleanup: (() => unknown)[] = []
  beforeAll(async () => {
    server = await startSingle()
  })
  afterAll(async () => {
    for (const clean of cleanup) await clean()
    await server?.kill9()
  })

  async function connect() {
    const connected = await clientNamed('ioredis 6').connectSingle(server.port, { retryStrategy: () => 20 })
    cleanup.push(connected.close)
    return connected
  }

  it('is charged for 250 full keys of a long log, and stays free for others', async () => {
    const keys = 250
    const limit = 1000
    const rule = { strategy: 'sliding-log', limit, window: '1d' }
    const [mine, others] = [await connect(), await connect()]
    const { limiter, many, ask: decide, charged, store } = limiterOn(mine.client, {}, rule)
    await many(3)
    await server.kill9()
    await until(
      'the store counts as failing',
      async () => (await decide()).source === 'local' && !store.isAvailable
    )
    for (let key = 0; key < keys; key++)
      expect(await limiter.consume(`key${key}`, limit)).toMatchObject({ allowed: true, source: 'local' })
    await server.restart()
    await until('another client is connected', async () => (await others.command('PING')) === 'PONG')
    await ask(server.port, 'CONFIG', 'SET', 'slowlog-log-slower-than', 5000)
    const ended = otherClient(server.port)
    await until('the store decides', async () => (await decide()).source === 'store')
    const sources: string[] = []
    for (let i = 0; i < 300; i++) {
      sources.push((await decide('live')).source)
      await new Promise((go) => setTimeout(go, 2))
    }
    const used = () =>
      Promise.all(Array.from({ length: keys }, (_, key) => charged(others.client, `key${key}`)))
    await until('the last is charged', async () => (await charged(others.client, `key${keys - 1}`)) === limit)
    const worst = await ended()
    await until('all are charged', async () => (await used()).every((units) => units === limit))
    expect(sources.filter((source) => source === 'store')).toHaveLength(300)
    // The machine is busy with other tests, too: what the server itself took says more.
    const { slow, all } = await slowCalls(server.port)
    expect(slow / all).toBeLessThan(0.05)
    expect(worst).toBeLessThan(100)
  })
})
