import { describe, expect, it } from 'vitest'
import { definePolicy, withLimit } from '../../src/core/policy.js'
import { rateLimit } from '../../src/express/index.js'
import { createLimiter, memoryStore, type Strategy } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { lockingStore } from '../remote/locking-store.js'
import { naming } from '../support/errors.js'

const log = { strategy: 'sliding-log', window: '1h' }

describe('a limit that no memory can hold', () => {
  it.each([2 ** 24, 2 ** 31, 2 ** 32, 1e12, 2 ** 52, Number.MAX_SAFE_INTEGER])(
    'of %d under a sliding log is refused, with what to take',
    (limit) => {
      const refused = naming('HEADGATE_BAD_OPTION', `\`limit\` is ${limit}: `, "'sliding-log'", "'gcra'")
      for (const store of [
        undefined,
        memoryStore(),
        memoryStore({ maxKeys: 10 }),
        sharedStore(),
        lockingStore(Date.now)
      ]) {
        expect(() => createLimiter({ ...log, limit, store } as never)).toThrow(refused)
        expect(() =>
          createLimiter({
            limits: [
              { ...log, limit },
              { limit: 1, window: '1s' }
            ],
            store
          } as never)
        ).toThrow(refused)
      }
      expect(() => rateLimit({ ...log, limit })).toThrow(refused)
    }
  )

  it('is an error of the limit function, too', () => {
    const policy = definePolicy({ ...log, limit: 1 })
    expect(() => withLimit(policy, 2 ** 52)).toThrow(naming('HEADGATE_BAD_LIMIT', '`limit`', "'sliding-log'"))
  })

  it('may be as large as it likes under strategies of a few numbers', () => {
    expect(() => createLimiter({ limit: Number.MAX_SAFE_INTEGER, window: '1d' })).not.toThrow()
    expect(() => createLimiter({ ...log, limit: 1_000_000 })).not.toThrow()
    expect(() => createLimiter({ ...log, limit: 2 ** 31, window: '1m' })).not.toThrow()
  })

  it('is told of by the strategy that asks for as much whatever the limit', () => {
    const { strategy } = createLimiter({ limit: 1, window: '1m' }).policies[0]!
    const greedy: Strategy = { ...strategy, name: 'greedy', slots: () => 2 ** 40 }
    expect(() => createLimiter({ limit: 1, window: '1m', strategy: greedy })).toThrow(
      naming('HEADGATE_BAD_OPTION', "slots of strategy 'greedy'")
    )
  })
})

describe('a shared store that no memory can hold', () => {
  it.each([
    [{ maxKeys: 2 ** 27, maxBytes: Number.MAX_SAFE_INTEGER }, '`maxBytes`'],
    [{ maxBytes: 2 ** 52 }, '`maxBytes`'],
    [{ maxKeys: 2 ** 52 }, '`maxKeys`']
  ])('%o is refused by name', (options, name) => {
    expect(() => sharedStore(options)).toThrow(naming('HEADGATE_BAD_OPTION', name))
  })
})
