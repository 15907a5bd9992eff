import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Lets what nobody has go, and those hear of it who want to. */
async function collect(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
}

const rule = { name: 'api', limit: 5, window: '1h' } as const

describe('a limiter that may go', () => {
  it('takes along what it has counted, and its name', async () => {
    const store = memoryStore()
    const consume = (i: number) => {
      const owner = { mayShare: true, group: `rule:${i}`, mayGo: true }
      buildLimiter({ ...rule, limit: 5 + i, store }, memoryStore, owner).consume('key')
    }
    consume(0)
    const size = store.save().length
    for (let i = 0; i < 200; i++) consume(i)
    await collect()
    expect(store.save().length).toBeLessThan(10 * size)
  })

  it('shares its counters as long as anybody has them', async () => {
    const store = memoryStore()
    const owner = { mayShare: true, group: 'rule:1', mayGo: true }
    const first = buildLimiter({ ...rule, store }, memoryStore, owner)
    first.consume('key')
    await collect()
    expect(buildLimiter({ ...rule, store }, memoryStore, owner).peek('key').remaining).toBe(4)
    expect(first.peek('key').remaining).toBe(4)
  })

  it('is not one that has a name of the user’s', async () => {
    const store = memoryStore()
    buildLimiter({ ...rule, store }, memoryStore).consume('key')
    await collect()
    expect(buildLimiter({ ...rule, store }, memoryStore).peek('key').remaining).toBe(4)
  })
})
