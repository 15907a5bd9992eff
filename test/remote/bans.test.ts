import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { type Backend, remoteStore } from '../../src/remote/index.js'

const at = 1_700_000_000_000

function on(more: Partial<Backend> = {}) {
  const texts = new Map<string, string>()
  const backend: Backend = {
    name: 'the database',
    shardOf: () => 0,
    nodeOf: () => '',
    open: ({ name }) => ({
      async swap(key, expected, change) {
        const id = `${name}:${key}`
        const text = texts.get(id) ?? ''
        if (change === null || text !== expected) return { isDone: false, text, now: at }
        texts.set(id, change.text)
        return { isDone: true, text, now: at }
      }
    }),
    ...more
  }
  const store = remoteStore(backend, { deadline: '5s', onStateChange: () => {} })
  return createLimiter({ name: 'api', limit: 1, window: '1m', ban: { after: 1, for: '1h' }, store })
}

describe('a backend', () => {
  it('bans without listing or clearing, and says that it can do neither', async () => {
    const limiter = on()
    await limiter.consume('key')
    expect((await limiter.consume('key')).retryAfterMs).toBe(3_600_000)
    await expect(limiter.bans()).rejects.toMatchObject({
      code: 'HEADGATE_MISUSE',
      message: expect.stringContaining('its backend has no `blocks`')
    })
    await expect(limiter.clear()).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
  })

  it('whose list fails, or never comes, is a store that fails', async () => {
    const blocks = async function* () {
      yield { blocks: [], next: '1' }
      throw new Error('gone')
    }
    await expect(on({ blocks }).bans()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    expect(() => on({ blocks: 7 as never })).toThrow(expect.objectContaining({ code: 'HEADGATE_BAD_OPTION' }))
  })

  it('is asked for no more steps than a page takes', async () => {
    let steps = 0
    const blocks = async function* () {
      for (;;) yield { blocks: [], next: String(++steps) }
    }
    const page = await on({ blocks }).bans()
    expect(page).toEqual({ bans: [], next: String(steps) })
    expect(steps).toBeLessThan(1000)
  })

  it('tells each key once a page', async () => {
    const found = { key: 'key', remainingMs: 5 }
    const blocks = async function* () {
      yield { blocks: [found, found], next: '1' }
      yield { blocks: [{ ...found, remainingMs: 4 }], next: null }
    }
    expect(await on({ blocks }).bans()).toEqual({ bans: [{ key: 'key', remainingMs: 4 }], next: null })
  })
})
