import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
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

describe('settings about windows, where there are none', () => {
  it('are said to do nothing, once each', async () => {
    const heard: string[] = []
    const hear = ({ message }: Error) => void heard.push(message)
    process.on('warning', hear)
    for (let i = 0; i < 2; i++) {
      createLimiter({ concurrency: 1, block: '1m', countDenied: true })
      rateLimit({ concurrency: 1, countOnly: 'failures' })
      createLimiter({ limits: [{ concurrency: 1 }, { limit: 5, window: '1s' }], block: '1m' })
    }
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    expect(heard.map((message) => message.slice(0, message.indexOf(':')))).toEqual([
      '`countDenied` of a limiter does nothing',
      '`block` of a limiter does nothing',
      '`countOnly` of rateLimit does nothing'
    ])
  })

  it('and work that is no function is refused before it takes anything', async () => {
    const limiter = createLimiter({ concurrency: 1 })
    await expect(limiter.run('a', 'work' as never)).rejects.toThrow(naming('HEADGATE_BAD_OPTION', '`work`'))
    expect(limiter.peek('a').remaining).toBe(1)
  })
})
