import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Strategy, StrategyName } from '../../src/index.js'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/redis/index.js'
import { limiterIn, type Suited, takeUnder } from '../store-suite/clocked-store.js'
import { page } from '../support/readme.js'
import { twoSpeedLua, twoSpeedRules } from '../support/two-speed.js'
import { clients } from './support/clients.js'
import { ask, type Server, startSingle } from './support/servers.js'
import { servers } from './support/stores.js'
import { until } from './support/until.js'

/** The lines of the docs, word by word: what decisions need, then what else there is. */
const text = page('docs/redis.md')
const lines = text.match(/^ACL SETUSER .*$/gm)!.map((line) => line.split(' '))
/** What it says that clients of a cluster need besides. */
const ofClusters = [...text.matchAll(/`(\+cluster\|\w+)`/g)].map(([, right]) => right!)
const commands = lines.flat().flatMap((word) => (word.startsWith('+') ? [word.slice(1)] : []))
const [, , user] = lines[0]!
const password = lines[0]!.find((word) => word.startsWith('>'))!.slice(1)

let server: Server
const cleanup: (() => unknown)[] = []

beforeAll(async () => {
  if (servers !== null) server = await startSingle()
})
afterAll(() => server?.kill9())
afterEach(async () => {
  vi.restoreAllMocks()
  for (const clean of cleanup.splice(0)) await clean()
})

async function connectAs(withoutCommand: string | null, name = 'ioredis 6') {
  for (const line of lines) await ask(server.port, ...line)
  if (withoutCommand !== null) await ask(server.port, 'ACL', 'SETUSER', user!, `-${withoutCommand}`)
  await ask(server.port, 'SCRIPT', 'FLUSH')
  await ask(server.port, 'FLUSHALL')
  const options = { username: user, password }
  const connected = await clients.find((client) => client.name === name)!.connectSingle(server.port, options)
  cleanup.push(connected.close)
  return connected
}

/** What a limiter is asked, each in a store of its own. */
interface Deed {
  readonly rule: Suited
  readonly act: (limiter: ReturnType<typeof limiterIn>, store: RedisStore, faults: Faults) => Promise<unknown>
}

/** What a deed does to the client, and whether the server refused something. */
interface Faults {
  isDown: boolean
  hasFailed: boolean
}

const each: readonly (StrategyName | Strategy)[] = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
  'gcra',
  'leaky-bucket',
  { ...twoSpeedRules, name: 'swapped' },
  { ...twoSpeedRules, name: 'in Lua', lua: twoSpeedLua }
]

const nameOf = (strategy: StrategyName | Strategy) =>
  typeof strategy === 'string' ? strategy : strategy.name

const deeds = new Map<string, Deed>()
for (const strategy of each) {
  const rule = { limit: 4, window: '1h', strategy } as const
  const named = (what: string) => `${nameOf(strategy)}: ${what}`
  deeds.set(named('consume, peek, refund, block, reset'), {
    rule,
    async act(limiter) {
      for (let i = 0; i < 6; i++) await limiter.consume('key')
      await limiter.peek('key')
      await limiter.refund('key')
      await limiter.block('key', '1m')
      await limiter.consume('key')
      await limiter.reset('key')
    }
  })
  deeds.set(named('limits that are computed'), {
    rule,
    async act(limiter) {
      for (const limit of [4, 2, 6, 1, 4]) await takeUnder(limiter, [limit], 'key', 1)
      await limiter.refund('key')
    }
  })
  deeds.set(named('countDenied and block'), {
    rule: { ...rule, limit: 2, countDenied: true, block: '1m' },
    async act(limiter) {
      for (let i = 0; i < 5; i++) await limiter.consume('key')
    }
  })
  deeds.set(named('what an outage has held up'), {
    rule,
    async act(limiter, _, faults) {
      await limiter.consume('key')
      faults.isDown = true
      await limiter.consume('key')
      faults.isDown = false
      const isCharged = async () => (await limiter.peek('key')).remaining <= 2
      await until('it is charged', async () => (await isCharged()) || faults.hasFailed)
    }
  })
}
deeds.set('several tiers', {
  rule: {
    limits: [
      { limit: 4, window: '1s', strategy: 'gcra' },
      { limit: 9, window: '1h', strategy: 'sliding-log' },
      { limit: 99, window: '1d' }
    ]
  },
  async act(limiter) {
    for (let i = 0; i < 6; i++) await limiter.consume('key')
    await limiter.reset('key')
  }
})
deeds.set('leases', {
  rule: { limit: 1000, window: '1h', lease: 10 },
  async act(limiter, store) {
    for (let i = 0; i < 20; i++) await limiter.consume('key')
    await store.close()
  }
})
deeds.set('permits', {
  rule: { limits: [{ limit: 9, window: '1h' }, { concurrency: 2 }] },
  async act(limiter) {
    const permits = [await limiter.acquire('key'), await limiter.acquire('key'), await limiter.acquire('key')]
    await limiter.peek('key')
    for (const permit of permits) permit.release()
    await limiter.reset('key')
  }
})
deeds.set('clear', {
  rule: { limit: 4, window: '1h' },
  async act(limiter, store) {
    for (const key of ['a', 'b', 'c']) await limiter.consume(key)
    await limiter.clear()
    await store.clear()
  }
})

type Command = (...words: readonly string[]) => Promise<unknown>

/** Does all of it, and gives what went wrong. */
async function doAll(command: Command, settings: RedisStoreOptions = {}): Promise<string[]> {
  const errors: string[] = []
  let limiters = 0
  for (const [what, { rule, act }] of deeds) {
    const faults: Faults = { isDown: false, hasFailed: false }
    const client = async (words: readonly string[]) => {
      if (faults.isDown) throw new Error('down')
      return command(...words).catch((error) => {
        if (!String(error).includes('NOSCRIPT')) faults.hasFailed = true
        throw error
      })
    }
    const store = redisStore(client, {
      deadline: '10s',
      breaker: { failures: 1, cooldown: 20 },
      onStateChange({ isAvailable, error }) {
        if (!isAvailable && !faults.isDown) errors.push(`${what}: ${error!.message}`)
      },
      ...settings
    })
    const named = 'limits' in rule ? rule : { ...rule, name: `limiter-${limiters++}` }
    const limiter = limiterIn({ store, clock: { time: 0 } }, named)
    await act(limiter, store, faults).catch(({ message }) => {
      // That the breaker is open was said with its reason.
      if (!message.includes('it is asked again')) errors.push(`${what}: ${message}`)
    })
    await store.close()
  }
  return errors
}

describe.skipIf(servers === null)('the user of docs/redis.md', () => {
  it.each(clients.map(({ name }) => name))('can do everything with %s', async (name) => {
    const { command, errors } = await connectAs(null, name)
    expect(await doAll(command)).toEqual([])
    expect(errors).toEqual([])
  })

  it.each(['ioredis 6', 'node-redis 4', 'node-redis 6'])('can use a cluster with %s', async (name) => {
    for (const port of servers!.cluster) {
      for (const line of lines) await ask(port, ...line)
      await ask(port, 'ACL', 'SETUSER', user!, ...ofClusters)
      cleanup.push(() => ask(port, 'ACL', 'DELUSER', user!))
    }
    const client = clients.find((client) => client.name === name)!
    const rights = { username: user, password }
    const options = client.library === 'ioredis' ? { redisOptions: rights } : { defaults: rights }
    const connected = await client.connectCluster(servers!.cluster, options)
    cleanup.unshift(connected.close)
    const store = redisStore(connected.client as never, { deadline: '10s' })
    const limiter = limiterIn({ store, clock: { time: 0 } }, { limit: 5, window: '1h' })
    for (let i = 0; i < 20; i++) expect((await limiter.consume(`key ${i}`)).source).toBe('store')
    await store.clear()
    expect((await limiter.peek('key 0')).remaining).toBe(5)
  })

  it('has no other keys', async () => {
    const { command } = await connectAs(null)
    const errors = await doAll(command, { prefix: 'other:' })
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) expect(error).toMatch(/keys/)
  })

  const needed = commands.filter((command) => command !== 'info')
  it.each(needed)('needs %s, and is told so', async (without) => {
    const { command } = await connectAs(without)
    const errors = await doAll(command)
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.filter((error) => !new RegExp(`['\`]${without}['\`]`, 'i').test(error))).toEqual([])
  })

  it.each(['get', 'mget', 'getrange', 'pttl', 'set', 'setrange', 'pexpire'])(
    'is admitted no more by Redis where it may not %s',
    async (without) => {
      const { client } = await connectAs(without)
      for (const strategy of each) {
        const store = redisStore(client as never, {
          deadline: '10s',
          onStoreError: 'deny',
          onStateChange() {}
        })
        const rule = { name: `${without}-${nameOf(strategy)}`, limit: 2, window: '1h', strategy } as Suited
        const limiter = limiterIn({ store, clock: { time: 0 } }, rule)
        let admitted = 0
        for (let i = 0; i < 6; i++) if ((await limiter.consume('key')).allowed) admitted++
        expect(admitted, nameOf(strategy)).toBeLessThanOrEqual(2)
      }
    }
  )

  it.each(['ioredis 5', 'ioredis 6', 'node-redis 6'])('may do without INFO with %s', async (name) => {
    const warned = vi.spyOn(process, 'emitWarning')
    // What ioredis says is its own.
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { command } = await connectAs('info', name)
    expect(await doAll(command)).toEqual([])
    const codes = warned.mock.calls.map(([, options]) => (options as { code?: string }).code)
    expect(codes).not.toContain('HEADGATE_EVICTION')
  })

  it('is told of TIME where it has all that reads and writes', async () => {
    await connectAs(null)
    const rights = ['reset', 'on', `>${password}`, '~headgate:*', '+@read', '+@write', '+eval', '+evalsha']
    await ask(server.port, 'ACL', 'SETUSER', 'reader', ...rights)
    const options = { username: 'reader', password, enableReadyCheck: false }
    const connected = await clients[0]!.connectSingle(server.port, options)
    cleanup.push(connected.close)
    const errors = await doAll(connected.command)
    expect(errors[0]).toContain('may not run `TIME`')
  })
})

describe('a right that is lacking', () => {
  it.each([
    "ERR The user executing the script can't run this command or subcommand script: 66a0, on @user_script:LINE.",
    "ERR ACL failure in script: User headgate has no permissions to run the 'time' command script: 66a0, on @user_script:LINE.",
    "ERR ACL failure in script: User access has no permissions to run the 'time' command",
    "ERR Error running script (call to f_66a0): @user_script:LINE: @user_script: LINE: -NOPERM The user executing the script can't run this command or subcommand"
  ])('is named, however a version words it: %s', async (wording) => {
    const client: Command = async (...words) => {
      const [[name, script]] = words as unknown as [string[]]
      if (name === 'EVALSHA') throw new Error('NOSCRIPT')
      const line = script!.split('\n').findIndex((text) => text.includes("redis.call('TIME')")) + 1
      throw new Error(wording.replaceAll('LINE', String(line)))
    }
    const errors: string[] = []
    const store = redisStore(client as never, {
      breaker: { failures: 1 },
      onStateChange: (state) => void (state.isAvailable || errors.push(state.error!.message))
    })
    const limiter = limiterIn({ store, clock: { time: 0 } }, { limit: 1, window: '1h' })
    expect((await limiter.consume('key')).source).toBe('local')
    expect(errors).toEqual([expect.stringContaining('the user of the client may not run `TIME`')])
  })
})
