import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { monotonicClock, SteadyTime } from '../../src/core/clock.js'
import { createLimiter } from '../../src/index.js'
import { runs } from '../support/traces.js'

describe('steady time', () => {
  it('stands still through a small step, and carries on once the clock has caught up', () => {
    const steady = new SteadyTime(1000, false)
    const readings = [5000, 5400, 4400, 4401, 5400, 5401].map((now) => [steady.read(now), steady.lag])
    expect(readings).toEqual([
      [5000, 0],
      [5400, 0],
      [5400, 1000],
      [5400, 999],
      [5400, 0],
      [5401, 0]
    ])
  })

  it('carries on at once after a step of more than a window', () => {
    const steady = new SteadyTime(1000, false)
    expect([steady.read(5400), steady.read(4399), steady.lag, steady.read(4400)]).toEqual([
      5400, 5400, 0, 5401
    ])
  })

  it('keeps to the phase of the clock where windows follow it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 2 }),
        (windowMs, readings) => {
          const steady = new SteadyTime(windowMs, true)
          let window = Number.NEGATIVE_INFINITY
          for (const now of readings) {
            const time = steady.read(now)
            if (steady.lag === 0) expect(time % windowMs).toBe(now % windowMs)
            expect(Math.floor(time / windowMs)).toBeGreaterThanOrEqual(window)
            window = Math.floor(time / windowMs)
          }
        }
      ),
      runs(200)
    )
  })
})

describe('the clock of a limiter', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, undefined, 'soon'])(
    'that returns %s throws instead of admitting',
    (reading) => {
      for (const strategy of ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra']) {
        const limiter = createLimiter({ strategy, limit: 1, window: 1000, now: () => reading as number })
        expect(() => limiter.consume('key'), strategy).toThrow(
          expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('`now`') })
        )
      }
    }
  )

  it('that fails once does not change what a key has', () => {
    let time = 5000
    const limiter = createLimiter({ limit: 2, window: 1000, now: () => time })
    limiter.consume('key')
    for (time of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      try {
        limiter.consume('key')
      } catch {}
    time = 5100
    expect(limiter.peek('key')).toMatchObject({ remaining: 1, resetMs: 900 })
    time = 6000
    expect(limiter.peek('key').remaining).toBe(2)
  })

  it('may have a fraction: the millisecond has not passed yet', () => {
    let time = 5000.9
    const limiter = createLimiter({ limit: 1, window: 1000, now: () => time })
    expect(limiter.consume('key').resetMs).toBe(1000)
    time = 5999.99
    expect(limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    time = 6000
    expect(limiter.consume('key').allowed).toBe(true)
  })

  it('is by default the wall clock in whole milliseconds, and never goes back', () => {
    const readings = Array.from({ length: 1000 }, () => monotonicClock())
    expect(readings.every((now, i) => Number.isSafeInteger(now) && now >= (readings[i - 1] ?? 0))).toBe(true)
    expect(Math.abs(readings[999]! - Date.now())).toBeLessThan(5000)
  })
})
