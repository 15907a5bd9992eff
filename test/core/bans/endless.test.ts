import { expect, it } from 'vitest'
import { createLimiter } from '../../../src/index.js'

it.each([5, 2 ** 50, Number.MAX_SAFE_INTEGER])(
  'a penalty of %d slows down who is never denied, and denies nobody',
  (units) => {
    const limiter = createLimiter({
      limit: Number.POSITIVE_INFINITY,
      window: '1h',
      delay: { after: 1, step: '1s', max: '20s' },
      now: () => 1_700_000_400_000
    })
    expect(limiter.penalty('key', units).allowed).toBe(true)
    const { allowed, delayMs, retryAfterMs } = limiter.consume('key')
    expect([allowed, retryAfterMs]).toEqual([true, 0])
    expect(delayMs).toBe(Math.min(20_000, units * 1000))
  }
)
