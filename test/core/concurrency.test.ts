import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { concurrencySuite } from '../store-suite/concurrency-suite.js'
import { naming } from '../support/errors.js'

concurrencySuite('memory', memoryStore)

describe('wrong options', () => {
  it.each<[object, string[]]>([
    [{ concurrency: 0.5 }, ['`concurrency` is 0.5']],
    [{ concurrency: 0 }, ['`concurrency` is 0']],
    [{ concurrency: '10' }, ['write it as a number, 10']],
    [{ queue: 3 }, ['`queue` is 3', '`concurrency`']],
    [{ limit: 3, window: '1s', queue: 3 }, ['`queue` is 3', '`concurrency`']],
    [{ limit: 3, window: '1s', concurrency: 3 }, ['`concurrency` is 3', '`limits: [']],
    [{ concurrency: 3, maxWait: '1s' }, ['`maxWait` is "1s"', '`queue`']],
    [{ concurrency: 3, queue: 1.5 }, ['`queue` is 1.5']],
    [{ concurrency: 3, strategy: 'gcra' }, ['`strategy`', '`limits: [']],
    [{ limits: [{ concurrency: 3 }, { concurrency: 5 }] }, ['`concurrency` is 5']],
    [{ concurrency: 3, queue: 3, maxWait: '60d' }, ['`maxWait` is "60d"']]
  ])('%j is refused', (options, parts) => {
    expect(() => createLimiter(options as never)).toThrow(naming('HEADGATE_BAD_OPTION', ...parts))
  })
})
