import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { tagOf } from '../../../src/redis/keys.js'
import { slotOf } from '../../../src/redis/slot.js'
import { ask, type Cluster, type Sentinel, startCluster, startSentinel } from '../support/servers.js'
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

const cleanup: (() => Promise<void>)[] = []
const names = ['ioredis 6', 'node-redis 6']

noUnhandledRejections()
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean()
})

async function connect(cluster: Cluster, name: string): Promise<unknown> {
  const connected = await clientNamed(name).connectCluster(cluster.ports.slice(0, 3))
  cleanup.push(connected.close)
  return connected.client
}

const slotOfKey = (key: string) => slotOf(tagOf(key))

describe.skipIf(servers === null)('a cluster', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  }, 30_000)
  afterAll(() => cluster?.stop())

  it.each(names)('loses no count while a slot moves: %s', async (name) => {
    const { ask: askOne, charged, states } = limiterOn(await connect(cluster, name))
    const key = `moving ${name}`
    const answers: Answer[] = []
    let isOver = false
    const traffic = async () => {
      while (!isOver) answers.push(await askOne(key))
    }
    const running = [traffic(), traffic()]
    const atLeast = (count: number) => until('there is traffic', () => answers.length >= count)
    await atLeast(20)
    const migration = await cluster.migrateSlot(slotOfKey(key), { until: 'opened' })
    await atLeast(answers.length + 20)
    await migration.finish()
    await atLeast(answers.length + 20)
    const back = await cluster.migrateSlot(slotOfKey(key), { to: migration.from, until: 'moved' })
    // A node that has lost the script only.
    await ask(migration.from, 'SCRIPT', 'FLUSH')
    await atLeast(answers.length + 20)
    await back.finish()
    await atLeast(answers.length + 20)
    isOver = true
    await Promise.all(running)
    expect(answers.filter(({ source }) => source !== 'store')).toEqual([])
    expectInTime(answers)
    expect(await charged(await connect(cluster, name), key)).toBe(answers.length)
    expect(states).toEqual([])
  })

  it.each(names)('fails over, one master alone: %s', { timeout: 40_000 }, async (name) => {
    await cluster.agreed()
    const { ask: askOne, states, store, charged } = limiterOn(await connect(cluster, name))
    const keys = Array.from({ length: 60 }, (_, i) => `client ${i}`)
    const turn = () => Promise.all(keys.map((key) => askOne(key)))
    const sick = await cluster.ownerOf(slotOfKey(keys[0]!))
    const owners = await Promise.all(keys.map((key) => cluster.ownerOf(slotOfKey(key))))
    const isSick = (_: unknown, i: number) => owners[i] === sick
    expect((await turn()).every(({ source }) => source === 'store')).toBe(true)
    await sick.kill9()
    const answers: Answer[] = []
    await until('its breaker is open', async () => {
      answers.push(...(await turn()))
      return !store.isAvailable
    })
    const now = await turn()
    answers.push(...now)
    expect(now.filter((answer, i) => !isSick(answer, i) && answer.source !== 'store')).toEqual([])
    expect(now.filter(isSick).every(({ source }) => source === 'local')).toBe(true)
    await until(
      'the replica serves',
      async () => {
        const last = await turn()
        answers.push(...last)
        return last.every(({ source }) => source === 'store') && store.isAvailable
      },
      20_000
    )
    const worst = expectInTime(answers)
    expect(worst).toBeGreaterThan(0)
    expect(states).toEqual([false, true])
    expect(storeAdmitted(answers)).toBeGreaterThan(0)
    // What the sick master's keys used here is charged where they are now.
    const own = answers.filter((_, i) => i % keys.length === 0).length + 1
    const other = await connect(cluster, name)
    await until('it is charged', async () => Math.abs((await charged(other, keys[0])) - own) <= 4)
    await sick.restart()
    await cluster.agreed()
  })
})

describe.skipIf(servers === null)('sentinels', () => {
  let sentinel: Sentinel
  beforeAll(async () => {
    sentinel = await startSentinel()
  }, 30_000)
  afterAll(() => sentinel?.stop())

  it('lead to the new master', { timeout: 30_000 }, async () => {
    const connected = await clientNamed('ioredis 6').connectSentinel!(sentinel.sentinelPorts, sentinel.name)
    cleanup.push(connected.close)
    const { many, states, store } = limiterOn(connected.client)
    const answers = await many(2)
    expect(storeAdmitted(answers)).toBe(2)
    await sentinel.master.kill9()
    await until(
      'the new master decides',
      async () => {
        answers.push(...(await many(2)))
        return states.length > 0 && answers.at(-1)!.source === 'store' && store.isAvailable
      },
      20_000
    )
    expectInTime(answers)
    expect(states).toEqual([false, true])
  })
})
