import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis5'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FaultProxy, startProxy } from '../support/fault-proxy.js'
import { type Cluster, startCluster } from '../support/servers.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'
import { clientNamed, limiterOn, noUnhandledRejections } from './outage.js'

/*
 * A connection that breaks after the server has carried a call out and before its reply has come. Clients send the call
 * again, and the decision must be made once all the same.
 */

const cleanup: (() => unknown)[] = []

noUnhandledRejections()
afterEach(async () => {
  for (const clean of cleanup.splice(0).reverse()) await clean()
})

async function proxyTo(port: number): Promise<FaultProxy> {
  const proxy = await startProxy(port)
  cleanup.push(() => proxy.stop())
  return proxy
}

/** Asks once through proxies that swallow the reply and break the connection; gives the source of the answer. */
async function askAndLose(proxies: readonly FaultProxy[], ask: () => Promise<{ source: string }>) {
  for (const proxy of proxies) proxy.drop('replies')
  const asked = ask()
  await until('it was carried out', () => proxies.some(({ swallowed }) => swallowed.replies > 0))
  for (const proxy of proxies) {
    await proxy.pass()
    proxy.cut()
  }
  return (await asked).source
}

describe.skipIf(servers === null).each(['ioredis 5', 'ioredis 6', 'node-redis 6'])('%s', (name) => {
  it('charges once what it sends again on a new connection', async () => {
    const proxy = await proxyTo(servers!.single)
    const connected = await clientNamed(name).connectSingle(proxy.port)
    cleanup.push(connected.close)
    const direct = await clientNamed(name).connectSingle(servers!.single)
    cleanup.push(direct.close)
    const { ask, charged } = limiterOn(connected.client, { deadline: '5s', onStoreError: 'allow' })
    expect((await ask()).source).toBe('store')
    expect(await askAndLose([proxy], ask)).toBe('allow')
    await until('it is back', async () => (await ask('other')).source === 'store')
    expect(await charged(direct.client)).toBe(2)
  })
})

describe.skipIf(servers === null).each([
  ['ioredis 5', ioredis5],
  ['ioredis 6', ioredis6]
])('a cluster through %s', (_, library) => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  }, 30_000)
  afterAll(() => cluster?.stop())

  it('charges once what it sends again', async () => {
    const proxies = await Promise.all(cluster.ports.map((port) => proxyTo(port)))
    const natMap = Object.fromEntries(
      cluster.ports.map((port, i) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxies[i]!.port }])
    )
    const client = new (library as typeof ioredis6).Cluster([{ host: '127.0.0.1', port: proxies[0]!.port }], {
      natMap
    })
    client.on('error', () => {})
    cleanup.push(() => client.disconnect())
    const direct = new (library as typeof ioredis6).Cluster([{ host: '127.0.0.1', port: cluster.ports[0]! }])
    cleanup.push(() => direct.disconnect())
    const { ask, charged } = limiterOn(client, { deadline: '5s', onStoreError: 'allow' })
    await until('it decides', async () => (await ask()).source === 'store')
    await until('it can be asked', async () => (await charged(direct)) > 0)
    const before = await charged(direct)
    expect(await askAndLose(proxies, ask)).toBe('allow')
    await until('it is back', async () => (await ask('other')).source === 'store')
    expect((await charged(direct)) - before).toBe(1)
  })
})
