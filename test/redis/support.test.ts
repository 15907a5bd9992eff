import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { type Connected, clients } from './support/clients.js'
import { isAgreed, slotCount, viewFrom } from './support/cluster-view.js'
import {
  ask,
  migrateSlot,
  ownerOf,
  type Sentinel,
  type Server,
  slotOf,
  startSentinel,
  startSingle
} from './support/servers.js'
import { until } from './support/until.js'

const redis = inject('redis')

describe.skipIf(redis === null)('a single server', () => {
  let server: Server

  beforeEach(async () => {
    server = await startSingle({ isPersistent: true, settings: ['--maxmemory', '64mb'] })
  })

  afterEach(() => server.kill9())

  it('answers, with the settings that it was given', async () => {
    expect(await ask(server.port, 'PING')).toBe('PONG')
    expect(await ask(server.port, 'CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', `${64 * 2 ** 20}`])
  })

  it('comes back on the same port with what it kept, ended in either way', async () => {
    for (const end of ['stop', 'kill9'] as const) {
      const { pid } = server
      await ask(server.port, 'INCR', 'kept')
      await server[end]()
      await expect(ask(server.port, 'PING')).rejects.toThrow('ECONNREFUSED')
      await server.restart()
      expect(server.pid).not.toBe(pid)
    }
    expect(await ask(server.port, 'GET', 'kept')).toBe('2')
  })

  it('answers after a pause what it was asked in it', async () => {
    server.pause()
    let isAnswered = false
    const answer = ask(server.port, 'PING').finally(() => {
      isAnswered = true
    })
    // Nothing tells that no answer is coming. This is a hundred times what one takes.
    await new Promise((done) => setTimeout(done, 50))
    expect(isAnswered).toBe(false)
    server.resume()
    expect(await answer).toBe('PONG')
  })

  it('says why it does not start', async () => {
    await expect(startSingle({ settings: ['--no-such-setting', '1'] })).rejects.toThrow(/no-such-setting/)
  })
})

describe.skipIf(redis === null)('the shared cluster', () => {
  const { cluster: ports = [] } = redis ?? {}

  it('has all slots on three masters, each with a replica', async () => {
    const nodes = await viewFrom(ports[0]!)
    const masters = nodes.filter(({ role }) => role === 'master')
    const slots = masters.flatMap((master) => master.slots.map(([first, last]) => last - first + 1))
    expect(masters.map(({ port }) => port).sort()).toEqual(ports.slice(0, 3).sort())
    expect(slots.reduce((sum, count) => sum + count)).toBe(slotCount)
    const followed = nodes.filter(({ role }) => role === 'replica').map(({ masterId }) => masterId)
    expect(followed.sort()).toEqual(masters.map(({ id }) => id).sort())
  })

  it('moves a slot with its keys', async () => {
    const slot = await slotOf(ports[0]!, 'support:moving')
    const { port } = await ownerOf(ports, slot)
    await ask(port, 'SET', 'support:moving', 'here')
    const migration = await migrateSlot(ports, slot)
    expect(migration.from).toBe(port)
    await expect(ask(port, 'GET', 'support:moving')).rejects.toThrow(
      `MOVED ${slot} 127.0.0.1:${migration.to}`
    )
    expect(await ask(migration.to, 'GET', 'support:moving')).toBe('here')
    await migrateSlot(ports, slot, { to: port })
    expect(await ask(port, 'GET', 'support:moving')).toBe('here')
    await until('all agree', () => isAgreed(ports))
  })

  it('stops a move where it is told to', async () => {
    const slot = await slotOf(ports[0]!, 'support:halfway')
    const { port } = await ownerOf(ports, slot)
    await ask(port, 'SET', 'support:halfway', 'here')
    const opened = await migrateSlot(ports, slot, { until: 'opened' })
    expect(await ask(port, 'GET', 'support:halfway')).toBe('here')
    await expect(ask(port, 'GET', '{support:halfway}:none')).rejects.toThrow(`ASK ${slot}`)
    await opened.finish()
    const moved = await migrateSlot(ports, slot, { to: port, until: 'moved' })
    await expect(ask(moved.from, 'GET', 'support:halfway')).rejects.toThrow(`ASK ${slot}`)
    await moved.finish()
    expect(await ask(port, 'GET', 'support:halfway')).toBe('here')
    await until('all agree', () => isAgreed(ports))
  })
})

describe.skipIf(redis === null)('the clients', () => {
  let sentinel: Sentinel

  beforeAll(async () => {
    sentinel = await startSentinel()
  })

  afterAll(() => sentinel?.stop())

  it('find sentinels that agree on the master and know its replicas', async () => {
    expect(await sentinel.masterPort()).toBe(sentinel.master.port)
  })

  describe.each(clients)('$name', ({ protocol, connectSingle, connectCluster }) => {
    let connected: Connected

    afterEach(() => connected.close())

    it('talks to a single server, in its protocol', async () => {
      connected = await connectSingle(redis!.single)
      const reply = await connected.command('EVAL', 'return {1, ARGV[1]}', '1', 'support:single', 'two')
      expect(reply).toEqual([1, 'two'])
      // A list of names and values, or an object.
      expect(JSON.stringify(await connected.command('HELLO'))).toMatch(new RegExp(`"proto"[,:]${protocol}`))
    })

    it('talks to all masters of a cluster', async () => {
      connected = await connectCluster(redis!.cluster)
      const keys = Array.from({ length: 12 }, (_, index) => `support:${index}`)
      const asked = await Promise.all(keys.map((key) => portAt(connected, key)))
      expect([...new Set(asked)].sort()).toEqual(redis!.cluster.slice(0, 3).sort())
    })
  })

  // Without those that have no way to do it, as a skipped test fails CI.
  it.each(clients.filter(({ connectSentinel }) => connectSentinel))(
    'find the master through sentinels: $name',
    async ({ connectSentinel }) => {
      const connected = await connectSentinel!(sentinel.sentinelPorts, sentinel.name)
      const port = await portAt(connected, 'support')
      await connected.close()
      expect(port).toBe(sentinel.master.port)
    }
  )
})

/** The port of the server that a client sends the commands for a key to. */
async function portAt({ command }: Connected, key: string): Promise<number> {
  const info = await command('EVAL', `return redis.call('INFO', 'server')`, '1', key)
  return Number(/tcp_port:(\d+)/.exec(String(info))?.[1])
}
