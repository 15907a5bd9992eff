import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { redisStoreOn } from '../../../src/redis/store.js'
import { naming } from '../../support/errors.js'
import { twoSpeedRules } from '../../support/two-speed.js'
import { captured } from '../support/captured.js'
import { clients } from '../support/clients.js'
import { processes } from '../support/processes.js'
import { ask, startSingle } from '../support/servers.js'
import { connected, freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'

afterEach(() => vi.restoreAllMocks())

const clock = { ms: 1_800_000_000_000 }
const now = () => clock.ms
const leaseMs = 1000
const policy = { name: 'jobs', concurrency: 2 }
const setOf = (prefix: string) => ask(servers!.single, 'KEYS', `${prefix}*:permits`) as Promise<string[]>

/** True for the calls that renew. */
const isRenewal = ({ args }: { readonly args: readonly string[] }) => args[0] === String(leaseMs)

describe.skipIf(servers === null)('permits are leases', () => {
  const open = processes()
  const direct = connected('ioredis 6', 'single')
  /** A process whose renewals are held back until a gate is opened. */
  const held = (prefix: string) => {
    const gate = { isOpen: false, waiting: [] as (() => void)[] }
    const command = (...words: readonly string[]) =>
      (direct.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)
    const { client, calls } = captured(() => ({ command }))
    const send = async (words: readonly string[], key: string) => {
      const args = words.slice(4 + Number(words[2]))
      if (isRenewal({ args }) && !gate.isOpen) await new Promise<void>((go) => gate.waiting.push(go))
      return client(words, key)
    }
    const store = redisStoreOn(send, { prefix, leaseMs, deadline: '10s' }, now)
    const limiter = createLimiter({ ...policy, store })
    return { gate, calls, limiter, other: open(now, policy, prefix, { leaseMs }).limiter }
  }
  const two = (settings = {}) => {
    const prefix = freshPrefix()
    const make = () => open(now, policy, prefix, { leaseMs, ...settings })
    return { prefix, one: make(), other: make() }
  }

  it('that end with their process, on the clock of the server, and not before', async () => {
    const { one, other, prefix } = two()
    const permits = [await one.limiter.acquire('a'), await one.limiter.acquire('a')]
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, true])
    // What is closed renews nothing any more, like a process that has died.
    await one.store.close()
    clock.ms += leaseMs - 1
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    clock.ms += 1
    const [key] = await setOf(prefix)
    expect(await ask(servers!.single, 'ZCARD', key!)).toBe(2)
    expect((await other.limiter.peek('a')).remaining).toBe(2)
    const next = await other.limiter.acquire('a', 2)
    expect(next.allowed).toBe(true)
    // A release that comes too late takes nothing from others.
    permits[0]!.release()
    expect((await other.limiter.peek('a')).remaining).toBe(0)
    next.release()
    await until('nothing is out', async () => (await setOf(prefix)).length === 0)
  })

  it('that are renewed by one call for all of a process, while it lives', async () => {
    const { one, other } = two()
    const keys = Array.from({ length: 30 }, (_, i) => `key${i}`)
    const permits = await Promise.all(keys.map((key) => one.limiter.acquire(key)))
    const before = one.calls.length
    for (let third = 0; third < 6; third++) {
      clock.ms += leaseMs / 2
      const renewals = one.calls.length
      await until('they are renewed', () => one.calls.length > renewals)
    }
    expect(one.calls.length - before).toBe(6)
    expect(one.calls.at(-1)!.keys).toHaveLength(30)
    for (const key of keys) expect((await other.limiter.peek(key)).remaining).toBe(1)
    expect(permits.some(({ isLost }) => isLost)).toBe(false)
    for (const permit of permits) permit.release()
    for (const key of keys) expect((await other.limiter.peek(key)).remaining).toBe(2)
  })

  it('whose holder learns that others took its place', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { one, other } = two()
    const permit = await one.limiter.acquire('a', 2)
    clock.ms += leaseMs
    const theirs = await other.limiter.acquire('a')
    expect(theirs.allowed).toBe(true)
    expect(permit.isLost).toBe(false)
    await until('it has learned', () => permit.isLost)
    expect(warn.mock.calls.map(([, options]) => (options as { code: string }).code)).toContain(
      'HEADGATE_PERMITS_LOST'
    )
    // All that live are counted, so that nobody is admitted until enough of them are done.
    expect((await other.limiter.peek('a')).remaining).toBe(0)
    theirs.release()
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    permit.release()
    expect(permit.isLost).toBe(true)
    expect((await other.limiter.peek('a')).remaining).toBe(2)
    expect(theirs.isLost).toBe(false)
  })

  it('that are not lost as long as nobody wanted them', async () => {
    const { one, other } = two()
    const permit = await one.limiter.acquire('a')
    clock.ms += 5 * leaseMs
    const renewals = one.calls.length
    await until('it is renewed', () => one.calls.length > renewals)
    expect((await other.limiter.peek('a')).remaining).toBe(1)
    expect(permit.isLost).toBe(false)
  })

  it('that are taken again after the server has lost its data', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { one, other, prefix } = two()
    const permit = await one.limiter.acquire('a', 2)
    await ask(servers!.single, 'DEL', ...(await setOf(prefix)))
    await until('it has learned', () => permit.isLost)
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    permit.release()
    expect((await other.limiter.acquire('a')).allowed).toBe(true)
  })

  it('that a server which was killed and has lost all is told of anew', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const server = await startSingle()
    const client = await clients.find(({ name }) => name === 'ioredis 6')!.connectSingle(server.port)
    try {
      const make = () => {
        const store = redisStore(client.client as never, {
          ...{ leaseMs, deadline: '5s', breaker: { cooldown: 20 }, onStateChange: () => {} }
        })
        return createLimiter({ ...policy, store })
      }
      const [one, other] = [make(), make()]
      const permit = await one.acquire('a')
      await server.kill9()
      await server.restart()
      await until('it is counted again', async () => (await other.peek('a')).remaining === 1)
      expect((await other.peek('a')).source).toBe('store')
      permit.release()
      await until('it is free', async () => (await other.peek('a')).remaining === 2)
    } finally {
      await client.close()
      await server.kill9()
    }
  })

  it('taken and released by one call each', async () => {
    const { one } = two()
    const permit = await one.limiter.acquire('a')
    expect(one.calls).toHaveLength(1)
    permit.release()
    await until('it is released', () => one.calls.length === 2)
    await Promise.all(Array.from({ length: 20 }, (_, i) => one.limiter.acquire(`key${i}`)))
    expect(one.calls).toHaveLength(3)
  })

  it('that stay out when all else is forgotten', async () => {
    const { one, other } = two()
    const permit = await one.limiter.acquire('a')
    await one.limiter.block('a', '1h')
    await one.store.clear()
    expect(await other.limiter.peek('a')).toMatchObject({ allowed: true, remaining: 1 })
    permit.release()
    expect((await other.limiter.peek('a')).remaining).toBe(2)
    expect(permit.isLost).toBe(false)
  })

  it('that come back though a renewal overtook their release', async () => {
    const prefix = freshPrefix()
    const { calls, limiter, other, gate } = held(prefix)
    const permit = await limiter.acquire('a')
    await until('a renewal is held back', () => gate.waiting.length > 0)
    permit.release()
    await until('the release was carried out', async () => (await other.peek('a')).remaining === 2)
    gate.isOpen = true
    for (const go of gate.waiting.splice(0)) go()
    await until('the renewal was carried out', () => calls.some(isRenewal))
    await until('it is free', async () => (await other.peek('a')).remaining === 2)
    await until('nothing is out', async () => (await setOf(prefix)).length === 0)
  })

  it('never denied from the cache of denials', async () => {
    const { one } = two({ denyCache: '1m' })
    const permit = await one.limiter.acquire('a', 2)
    expect((await one.limiter.acquire('a')).allowed).toBe(false)
    permit.release()
    expect(await one.limiter.acquire('a')).toMatchObject({ allowed: true, source: 'store' })
  })

  it('of many units are one entry each, and all go', async () => {
    const prefix = freshPrefix()
    const { limiter } = open(now, { name: 'jobs', concurrency: 5000 }, prefix, { leaseMs })
    const permit = await limiter.acquire('a', 2500)
    const [key] = await setOf(prefix)
    expect(await ask(servers!.single, 'ZCARD', key!)).toBe(2500)
    expect((await limiter.acquire('a', 2501)).allowed).toBe(false)
    permit.release()
    expect((await limiter.peek('a')).remaining).toBe(5000)
    expect(await setOf(prefix)).toEqual([])
  })

  it('of which a key has no more than Redis adds or removes in a moment', async () => {
    const prefix = freshPrefix()
    const large = () => open(now, { name: 'jobs', concurrency: 10_001 }, prefix)
    expect(large).toThrow(naming('HEADGATE_BAD_OPTION', '`concurrency` is 10001', 'larger units'))
    const { limiter } = open(now, { name: 'jobs', concurrency: 10_000 }, prefix)
    const computing = limiter as unknown as { withLimits(limits: number[]): never; take: unknown }
    const take = computing.take as (key: string, cost: number, policies: never) => Promise<unknown>
    await expect(
      (async () => take.call(computing, 'a', 1, computing.withLimits([10_001])))()
    ).rejects.toThrow(naming('HEADGATE_BAD_LIMIT', '10001'))
  })

  it('whose key expires, whatever becomes of everybody', async () => {
    const { one, prefix } = two()
    await one.limiter.acquire('a')
    const [key] = await setOf(prefix)
    const ttl = (await ask(servers!.single, 'PTTL', key!)) as number
    expect(ttl).toBeGreaterThan(leaseMs)
    expect(ttl).toBeLessThanOrEqual(7_200_000)
  })

  it('beside a strategy without Lua, by compare and swap', async () => {
    const prefix = freshPrefix()
    const limits = [
      { name: 'own', limit: 10, window: '1h', strategy: twoSpeedRules },
      { name: 'jobs', concurrency: 2 }
    ]
    const make = () => open(now, { limits, name: undefined }, prefix, { leaseMs })
    const large = [limits[0], { name: 'jobs', concurrency: 1001 }]
    expect(() => open(now, { limits: large, name: undefined }, prefix)).toThrow(
      naming('HEADGATE_BAD_OPTION', '`concurrency` is 1001', 'twin in Lua')
    )
    const [one, other] = [make(), make()]
    const permit = await one.limiter.acquire('a', 2)
    expect(permit.allowed).toBe(true)
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    clock.ms += leaseMs / 2
    const calls = one.calls.length
    await until('it is renewed', () => one.calls.length > calls + 1)
    clock.ms += leaseMs / 2
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    permit.release()
    await until('it is free', async () => (await other.limiter.acquire('a')).allowed)
  })
})
