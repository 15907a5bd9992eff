import { afterEach, describe, expect, it } from 'vitest'
import type { OnStoreError } from '../../../src/redis/index.js'
import type { ClientUnderTest } from '../support/clients.js'
import { type FaultProxy, startProxy } from '../support/fault-proxy.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'
import {
  type Answer,
  expectInTime,
  limiterOn,
  noUnhandledRejections,
  storeAdmitted,
  tested
} from './outage.js'

/** Faults, and with what the decisions that they hit are answered. */
const faults: Readonly<Record<string, (proxy: FaultProxy) => unknown>> = {
  'requests are dropped': (proxy) => proxy.drop('requests'),
  'replies are dropped': (proxy) => proxy.drop('replies'),
  'requests are 500 ms late': (proxy) => proxy.delay('requests', 500),
  'replies are 500 ms late': (proxy) => proxy.delay('replies', 500),
  'the client sees the end of its connections, and none is made': async (proxy) => {
    await proxy.refuse()
    proxy.halfClose('client')
  },
  'connections are cut, and none is made': async (proxy) => {
    await proxy.refuse()
    proxy.cut()
  }
}

/** Decisions at once. */
const width = 4
const modes: readonly OnStoreError[] = ['allow', 'deny', 'local']
const cleanup: (() => Promise<void>)[] = []

noUnhandledRejections()
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean()
})

async function proxied(client: ClientUnderTest) {
  const proxy = await startProxy(servers!.single)
  const [through, direct] = [
    await client.connectSingle(proxy.port),
    await client.connectSingle(servers!.single)
  ]
  cleanup.push(through.close, direct.close, () => proxy.stop())
  return { proxy, client: through.client, direct: direct.client }
}

describe.skipIf(servers === null).each(tested)('$name, as it is set by default', (tested) => {
  it.each(Object.keys(faults).map((fault, i) => [fault, modes[i % 3]!] as const))(
    'where %s: answers in time (%s), charges nothing later, and recovers by itself',
    async (fault, onStoreError) => {
      const { proxy, client, direct } = await proxied(tested)
      const { many, charged, states, store } = limiterOn(client, { onStoreError })
      const answers: Answer[] = await many(width)
      expect(answers.map(({ source }) => source)).toEqual(new Array(width).fill('store'))
      // Begun while requests are under way.
      const hit = many(width)
      await faults[fault]!(proxy)
      answers.push(...(await hit))
      // As many turns as the breaker takes to open, and one that it keeps from Redis.
      for (let turn = 0; turn < 4; turn++) answers.push(...(await many(width)))
      const last = answers.slice(-width)
      expect(last.map(({ source }) => source)).toEqual(new Array(width).fill(onStoreError))
      expect(last.map(({ allowed }) => allowed)).toEqual(new Array(width).fill(onStoreError !== 'deny'))
      if (onStoreError !== 'local') expect(last.every(({ remaining }) => Number.isNaN(remaining))).toBe(true)
      expect(store.isAvailable).toBe(false)
      await proxy.pass()
      proxy.cut()
      await until('the store decides again', async () => {
        answers.push(...(await many(1)))
        return answers.at(-1)!.source === 'store' && store.isAvailable
      })
      answers.push(...(await many(width)))
      expectInTime(answers)
      const known = storeAdmitted(answers)
      const local = answers.filter(({ source }) => source === 'local').length
      // What was counted here is charged once the store is back.
      const inRedis = await until('what was counted here is charged', async () => {
        const count = await charged(direct)
        return count >= known + local && count
      })
      // The bound: what was in flight when the fault began may have been charged and not answered.
      expect(inRedis - known - local).toBeLessThanOrEqual(3 * width)
      expect(states).toEqual([false, true])
    }
  )
})
