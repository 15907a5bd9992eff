import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { clockFrom, monotonicClock } from '../../src/core/clock.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { runs } from '../support/traces.js'

const start = 1_700_000_000_000
const hour = 3_600_000

/** A machine: its monotonic clock, and its wall clock. */
function machine() {
  const time = { mono: 5_000_000, wall: start }
  const hrtime = (): [number, number] => [Math.floor(time.mono / 1000), (time.mono % 1000) * 1e6 + 123]
  const now = () => time.wall
  const clock = clockFrom({ process: { hrtime }, globals: { Date: { now } } }, () => true)
  /** Lets time pass on both. */
  const pass = (ms: number) => {
    time.mono += ms
    time.wall += ms
    return clock()
  }
  return { time, clock, pass }
}

describe('the default clock', () => {
  it('begins as the wall clock, and goes as the monotonic one does', () => {
    const { clock, pass } = machine()
    expect([clock(), pass(1), pass(999), pass(50 * 24 * hour)]).toEqual(
      [0, 1, 1000, 1000 + 50 * 24 * hour].map((ms) => start + ms)
    )
  })

  it('takes no step for time that a test has set back before it was first read', () => {
    const mono = (): [number, number] => [1000, 0]
    const date = { now: () => start }
    const real = date.now
    const clock = clockFrom({ process: { hrtime: mono }, globals: { Date: date } }, (now) => now === real)
    date.now = () => 0
    expect(clock()).toBe(start)
    date.now = real
    expect(clock()).toBe(start)
  })

  it('follows the wall after the machine was suspended, within a second', () => {
    const { time, clock, pass } = machine()
    clock()
    pass(10_500)
    time.wall += hour
    const seen = Array.from({ length: 11 }, () => pass(100) - start - 10_500)
    expect(seen[0]).toBe(100)
    expect(seen.slice(5)).toEqual([600, 700, 800, 900, 1000, 1100].map((ms) => hour + ms))
    expect(seen.filter((ms) => ms < hour).length).toBeLessThanOrEqual(10)
  })

  it('follows it at once where nobody has asked for a while', () => {
    const { time, pass } = machine()
    pass(1000)
    time.mono += 2000
    time.wall += hour
    expect(pass(0)).toBe(start + 1000 + hour)
  })

  it.each([
    ['a small step forward', 1500],
    ['a step back', -hour],
    ['a leap second', 1000],
    ['a day back', -24 * hour]
  ])('does not go with %s of the wall', (_what, ms) => {
    const { time, clock, pass } = machine()
    clock()
    time.wall += ms
    for (let i = 1; i <= 20; i++) expect(pass(700)).toBe(start + 700 * i)
  })

  it('does not go with a wall that is put back and then right again', () => {
    const { time, pass } = machine()
    for (const step of [-hour, hour, -2 * hour, 2 * hour]) {
      time.wall += step
      pass(1500)
    }
    expect(pass(0)).toBe(start + 6000)
  })

  it('goes with the monotonic one while the wall is slewed', () => {
    const { time, clock } = machine()
    clock()
    for (let i = 1; i <= 3000; i++) {
      time.mono += 1000
      time.wall += i % 2 === 0 ? 1000 : 1000.5
      expect(clock()).toBe(start + i * 1000)
    }
  })

  it('never goes back, never slower than the monotonic one, and never beyond what either says', () => {
    const steps = fc.array(
      fc.tuple(fc.nat(3000), fc.oneof(fc.integer({ min: -5000, max: 5000 }), fc.constantFrom(-hour, hour))),
      { minLength: 1, maxLength: 50 }
    )
    fc.assert(
      fc.property(steps, (all) => {
        const { time, clock, pass } = machine()
        let last = clock()
        for (const [ms, step] of all) {
          time.wall += step
          const now = pass(ms)
          expect(now).toBeGreaterThanOrEqual(last + ms)
          expect(now).toBeLessThanOrEqual(Math.max(last + ms, time.wall))
          last = now
        }
      }),
      runs(200)
    )
  })

  it('has a client that waited through a suspend admitted', () => {
    const { time, clock, pass } = machine()
    const limiter = createLimiter({ limit: 1, window: '15m', align: 'first-request', now: clock })
    limiter.consume('key')
    expect(limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 900_000 })
    pass(5000)
    time.wall += 900_000
    pass(1000)
    expect(limiter.consume('key').allowed).toBe(true)
  })
})

describe('time that a test moves', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  /** A key that is denied for a year, far longer than this machine is up; then time is moved. */
  function waits(move: () => void): void {
    for (const strategy of ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra']) {
      const limiter = createLimiter({ limit: 1, window: '365d', strategy, store: memoryStore() })
      limiter.consume('key')
      const before = limiter.consume('key')
      expect(before.allowed, strategy).toBe(false)
      move()
      expect(limiter.consume('key').allowed, strategy).toBe(true)
      expect(limiter.consume('key').allowed, strategy).toBe(false)
    }
  }

  const days = 2 * 365 * 24 * hour

  it('is time, where fake timers replace all clocks', () => {
    vi.useFakeTimers()
    waits(() => vi.advanceTimersByTime(days))
    waits(() => vi.setSystemTime(Date.now() + days))
  })

  it('is time, where they are replaced only after a key was charged', () => {
    waits(() => {
      vi.useFakeTimers()
      vi.advanceTimersByTime(days)
    })
  })

  it('is time, where only `Date` is replaced, whatever it begins with', () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    waits(() => vi.setSystemTime(Date.now() + days))
    vi.setSystemTime(new Date('2001-02-03'))
    waits(() => vi.setSystemTime(Date.now() + days))
    waits(() => vi.advanceTimersByTime(days))
  })

  it('is time, where `Date.now` is mocked', () => {
    const now = vi.spyOn(Date, 'now')
    let time = 5000
    now.mockImplementation(() => time)
    waits(() => {
      time += days
    })
    now.mockImplementation(() => Number.NaN)
    expect(createLimiter({ limit: 1, window: '1m' }).consume('key').allowed).toBe(true)
  })

  it('is time, where only `hrtime` is replaced', () => {
    const real = process.hrtime
    let seconds = 0
    try {
      process.hrtime = (() => [seconds, 0]) as never
      waits(() => {
        seconds += days / 1000
      })
    } finally {
      process.hrtime = real
    }
  })

  it('does not go back where `Date` is put back, nor when all is as it was', () => {
    vi.useFakeTimers()
    const before = monotonicClock()
    vi.setSystemTime(Date.now() + hour)
    const ahead = monotonicClock()
    expect(ahead - before).toBeGreaterThanOrEqual(hour)
    vi.setSystemTime(Date.now() - 2 * hour)
    expect(monotonicClock()).toBe(ahead)
    vi.advanceTimersByTime(5)
    expect(monotonicClock()).toBe(ahead + 5)
    vi.useRealTimers()
    const after = monotonicClock()
    expect(after).toBeGreaterThanOrEqual(ahead + 5)
    expect(after).toBeLessThan(ahead + 5000)
  })
})
