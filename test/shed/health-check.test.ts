import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type HealthCheckResult, HealthWatch } from '../../src/shed/health-check.js'
import { gate } from '../http/behaviour/harness.js'

const stops: (() => void)[] = []
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A watch whose check the test answers, each asking by itself. */
function watched(intervalMs: number) {
  const asked: ReturnType<typeof gate<HealthCheckResult>>[] = []
  const watch = new HealthWatch(() => {
    const one = gate<HealthCheckResult>()
    asked.push(one)
    return one.promise
  }, intervalMs)
  stops.push(() => watch.stop())
  return { watch, asked, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
}

describe('a health check that does not answer', () => {
  it('has failed when the next one is due, and is asked anew each interval', async () => {
    const { watch, asked, pass } = watched(300)
    void watch.ask()
    asked[0]!.open(true)
    await pass(300)
    expect([watch.isHealthy, asked.length]).toEqual([true, 2])
    await pass(299)
    expect(watch.isHealthy).toBe(true)
    await pass(1)
    expect([watch.isHealthy, asked.length]).toEqual([false, 3])
    for (let i = 0; i < 10; i++) await pass(300)
    expect([watch.isHealthy, asked.length]).toEqual([false, 13])
    asked[12]!.open(true)
    await pass(0)
    expect(watch.isHealthy).toBe(true)
  })

  it('has failed after 5 s where the interval is longer', async () => {
    const { watch, asked, pass } = watched(60_000)
    const first = watch.ask()
    asked[0]!.open(true)
    expect(await first).toBe(true)
    const second = watch.ask()
    await pass(4999)
    expect(watch.isHealthy).toBe(true)
    await pass(1)
    expect([watch.isHealthy, await second]).toEqual([false, false])
    // Nobody has been asked since: there is no newer answer.
    asked[1]!.open(true)
    await pass(0)
    expect(watch.isHealthy).toBe(true)
  })

  it('is not heard any more once another has been asked', async () => {
    const { watch, asked, pass } = watched(300)
    void watch.ask()
    await pass(300)
    asked[0]!.open(true)
    await pass(0)
    expect(watch.isHealthy).toBe(false)
    asked[1]!.open({ queue: 1 })
    await pass(0)
    expect(watch.isHealthy).toBe(true)
    await pass(300)
    await pass(300)
    asked[3]!.open(true)
    await pass(0)
    asked[2]!.open(false)
    await pass(0)
    expect(watch.isHealthy).toBe(true)
    asked[2]!.fail(new Error('late'))
  })

  it('is asked once for all that ask while it is under way', async () => {
    const { watch, asked, pass } = watched(300)
    const first = watch.ask()
    await pass(200)
    const second = watch.ask()
    expect(asked.length).toBe(1)
    asked[0]!.open({ queue: 1 })
    expect([await first, await second]).toEqual([{ queue: 1 }, { queue: 1 }])
    void watch.ask()
    expect(asked.length).toBe(2)
  })

  it('is told of once, by the time that it had', async () => {
    const told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { watch, pass } = watched(300)
    void watch.ask()
    await pass(1000)
    expect(told.mock.calls.map(([message]) => message)).toEqual([
      '`healthCheck` failed, so the worker counts as unhealthy: it did not answer within 300 ms'
    ])
  })

  it('keeps nobody waiting once the watch is stopped, and is asked no more', async () => {
    const { watch, asked, pass } = watched(300)
    const waiting = watch.ask()
    watch.stop()
    await waiting
    await watch.ask()
    await pass(10_000)
    expect([asked.length, vi.getTimerCount()]).toEqual([1, 0])
  })
})

describe('a health check that answers at once', () => {
  it('counts at once, and is asked each interval', async () => {
    let asked = 0
    const watch = new HealthWatch(() => ++asked !== 2, 300)
    stops.push(() => watch.stop())
    void watch.ask()
    expect(watch.isHealthy).toBe(true)
    vi.advanceTimersByTime(300)
    expect([asked, watch.isHealthy]).toEqual([2, false])
    vi.advanceTimersByTime(300)
    expect([asked, watch.isHealthy]).toEqual([3, true])
  })
})
