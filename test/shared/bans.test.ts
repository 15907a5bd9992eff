import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { type SharedHandle, sharedStore } from '../../src/shared/index.js'
import { threads } from './support/threads.js'

const T = 1_700_000_400_000
const hour = 3_600_000
const { run } = threads()

const rule = { limit: 1, window: '1s', ban: { after: 20, for: '1h', growth: 2 } } as const
const on = (handle: SharedHandle, clock: { time: number }) =>
  createLimiter({ ...rule, store: sharedStore({ from: handle }), now: () => clock.time })

describe('bans in worker threads', () => {
  it('come of the denials of all threads, once', async () => {
    const { handle } = sharedStore({ maxKeys: 100 })
    const clock = new BigInt64Array(new SharedArrayBuffer(8))
    clock[0] = BigInt(T)
    const keys = ['one', 'two', 'ключ', 'k'.repeat(47), 'k'.repeat(48)]
    const work = { kind: 'hit', handle, clock, policy: rule, keys, count: 60 } as const
    await run([work, work, work, work])
    const time = { time: T }
    const limiter = on(handle, time)
    const { bans } = limiter.bans()
    expect(bans.map(({ remainingMs }) => remainingMs)).toEqual(keys.map(() => hour))
    const shown = keys.map((key) => (key.length > 47 ? expect.stringMatching(/^#[\w-]{43}$/) : key))
    expect(bans.map(({ key }) => key)).toEqual(expect.arrayContaining(shown))
    time.time += hour
    for (let i = 0; i < 21; i++) limiter.consume('one')
    expect(limiter.bans().bans).toEqual([{ key: 'one', remainingMs: 2 * hour }])
  })

  it('shorten no block that another thread has set', () => {
    const { handle } = sharedStore({ maxKeys: 100 })
    const clock = { time: T }
    const [a, b] = [on(handle, clock), on(handle, clock)]
    a.block('key', '2h')
    expect(b.penalty('key', 5).retryAfterMs).toBe(2 * hour)
    expect(b.bans().bans).toEqual([{ key: 'key', remainingMs: 2 * hour }])
    b.reset('key')
    expect(a.bans().bans).toEqual([])
  })

  it('forget what has no room, and ban nobody for what others did', () => {
    const { handle } = sharedStore({ maxKeys: 8 })
    const limiter = createLimiter({
      limit: 1,
      window: '1h',
      ban: { after: 3, within: '1h', for: '2h' },
      store: sharedStore({ from: handle }),
      now: () => T
    })
    for (let i = 0; i < 500; i++) for (let n = 0; n < 2; n++) limiter.consume(`key ${i}`)
    expect(limiter.bans().bans).toEqual([])
  })
})
