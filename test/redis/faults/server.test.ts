import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ask, type Server, startSingle } from '../support/servers.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'
import {
  type Answer,
  clientNamed,
  expectInTime,
  limiterOn,
  noUnhandledRejections,
  storeAdmitted
} from './outage.js'

let server: Server
const cleanup: (() => unknown)[] = []

noUnhandledRejections()
beforeAll(async () => {
  if (servers !== null) server = await startSingle()
})
afterAll(() => server?.kill9())
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean()
})

async function connect(name: string, port = server.port) {
  const connected = await clientNamed(name).connectSingle(port)
  cleanup.push(connected.close)
  return connected.client
}

type Limiter = ReturnType<typeof limiterOn>

async function untilStore({ many, store }: Limiter, answers: Answer[] = []): Promise<Answer[]> {
  await until('the store decides', async () => {
    answers.push(...(await many(1)))
    return answers.at(-1)!.source === 'store' && store.isAvailable
  })
  return answers
}

/** How often a command was carried out, by the server's own count. */
async function calls(command: string): Promise<number> {
  const stats = String(await ask(server.port, 'INFO', 'commandstats'))
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

describe.skipIf(servers === null).each(['ioredis 6', 'node-redis 6'])('%s', (name) => {
  let limiter: Limiter

  beforeEach(async () => {
    limiter = limiterOn(await connect(name), { onStoreError: 'allow' })
    await untilStore(limiter)
  })

  it('counts anew after kill -9 and a restart, and shows no NOSCRIPT', async () => {
    await server.kill9()
    const answers = await limiter.many(4)
    answers.push(...(await limiter.many(4)))
    expect(answers.every(({ source }) => source === 'allow')).toBe(true)
    await server.restart()
    await untilStore(limiter, answers)
    expectInTime(answers)
    expect(await limiter.charged(await connect(name))).toBe(storeAdmitted(answers))
  })

  it('charges nothing of what a frozen server reads when it goes on', async () => {
    const before = await limiter.charged(await connect(name))
    server.pause()
    const answers: Answer[] = []
    try {
      for (let turn = 0; turn < 4; turn++) answers.push(...(await limiter.many(4)))
      // The server is to be frozen for longer than every ticket: a second is ten deadlines.
      await new Promise((done) => setTimeout(done, 1000))
      answers.push(...(await limiter.many(4)))
    } finally {
      server.resume()
    }
    expect(answers.every(({ source }) => source === 'allow')).toBe(true)
    await untilStore(limiter, answers)
    expectInTime(answers)
    expect((await limiter.charged(await connect(name))) - before).toBe(storeAdmitted(answers))
  })

  it('dates even the first command that a server gets', async () => {
    const client = await connect(name)
    const first = limiterOn(client, { onStoreError: 'deny' })
    server.pause()
    try {
      expectInTime(await first.many(3))
      // As above.
      await new Promise((done) => setTimeout(done, 300))
    } finally {
      server.resume()
    }
    const answers = await untilStore(first)
    expect(await first.charged(await connect(name))).toBe(storeAdmitted(answers))
  })

  it('counts each of 100 requests once after SCRIPT FLUSH, with one reload', async () => {
    const before = await limiter.charged(await connect(name))
    await ask(server.port, 'SCRIPT', 'FLUSH')
    await ask(server.port, 'CONFIG', 'RESETSTAT')
    // In calls of their own: what is asked in one turn goes in one.
    const answers: Promise<Answer>[] = []
    for (let turn = 0; turn < 100; turn++) {
      answers.push(limiter.ask())
      await new Promise((next) => setImmediate(next))
    }
    expect(storeAdmitted(await Promise.all(answers))).toBe(100)
    expect(await calls('eval')).toBe(1)
    expect((await limiter.charged(await connect(name))) - before).toBe(100)
  })

  it('counts anew after FLUSHALL', async () => {
    await ask(server.port, 'FLUSHALL')
    expect(storeAdmitted(await limiter.many(5))).toBe(5)
    expect(await limiter.charged(await connect(name))).toBe(5)
    expect(limiter.states).toEqual([])
  })

  const refusals: Readonly<Record<string, [begin: string[], end: string[]]>> = {
    'is out of memory and may not evict': [
      ['CONFIG', 'SET', 'maxmemory', '1'],
      ['CONFIG', 'SET', 'maxmemory', '0']
    ],
    'has too few replicas': [
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0']
    ],
    'is made a read-only replica': [
      ['REPLICAOF', '127.0.0.1', '1'],
      ['REPLICAOF', 'NO', 'ONE']
    ]
  }
  it.each(Object.keys(refusals))('goes by onStoreError while the server %s', async (fault) => {
    const [begin, end] = refusals[fault]!
    await ask(server.port, ...begin)
    const answers: Answer[] = []
    try {
      for (let turn = 0; turn < 4; turn++) answers.push(...(await limiter.many(2)))
    } finally {
      await ask(server.port, ...end)
    }
    expect(answers.every(({ source }) => source === 'allow')).toBe(true)
    expect(limiter.states).toEqual([false])
    await untilStore(limiter, answers)
    expectInTime(answers)
    expect(limiter.states).toEqual([false, true])
  })

  it('reads an answer that came while the process was busy past the deadline', async () => {
    await limiter.many(1)
    const pending = limiter.ask()
    // Turns of the event loop in which the store, then the client, sends the command.
    for (let turn = 0; turn < 3; turn++) await new Promise((next) => setImmediate(next))
    const end = performance.now() + 200
    while (performance.now() < end);
    expect((await pending).source).toBe('store')
  })
})

describe.skipIf(servers === null)('a server that is down when the client is made', () => {
  it.each(['ioredis 6', 'node-redis 6', 'node-redis 4'])('%s', async (name) => {
    await server.kill9()
    const made = await makeUnconnected(name)
    cleanup.push(made.close)
    const limiter = limiterOn(made.client, { share: 1 / 2 }, { limit: 6 })
    const answers: Answer[] = []
    for (let turn = 0; turn < 4; turn++) answers.push(await limiter.ask())
    expect(answers.map(({ source }) => source)).toEqual(new Array(4).fill('local'))
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(limiter.states).toEqual([false])
    await server.restart()
    await until('the store decides', async () => (await limiter.limiter.peek('key')).source === 'store')
    const direct = await connect(name)
    await until('the three are charged', async () => (await limiter.charged(direct)) === 3)
    expectInTime(answers)
    expect(limiter.states).toEqual([false, true])
  })
})

/** A client as it is while its `connect` goes on trying. */
async function makeUnconnected(name: string): Promise<{ client: unknown; close: () => void }> {
  const { port } = server
  if (name === 'ioredis 6') {
    const { Redis } = await import('ioredis')
    const client = new Redis(port, '127.0.0.1').on('error', () => {})
    return { client, close: () => client.disconnect() }
  }
  const { createClient } = (await import(
    name === 'node-redis 6' ? 'redis' : 'redis4'
  )) as typeof import('redis')
  const client = createClient({ socket: { port, host: '127.0.0.1' } }).on('error', () => {})
  client.connect().catch(() => {})
  return { client, close: () => void client.disconnect() }
}
