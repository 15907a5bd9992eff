import { expect, it } from 'vitest'
import { limiterOf } from '../support/traces.js'

it('a block lasts for the wait of its policy at least, so that who waits as told is admitted', () => {
  const T = 1_700_000_000_000
  const limiter = limiterOf({ limit: 1, window: '1h', strategy: 'sliding-log' }, { block: '10m' })
  limiter.at(T).consume('key')
  expect(limiter.at(T).consume('key').retryAfterMs).toBe(3_600_000)
  expect(limiter.at(T + 3_540_000).consume('key').retryAfterMs).toBe(60_000)
  expect(limiter.at(T + 3_600_000).consume('key').allowed).toBe(true)
})
