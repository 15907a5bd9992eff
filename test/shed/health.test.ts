import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { healthPlan } from '../../src/shed/health-options.js'
import { Heartbeat } from '../../src/shed/heartbeat.js'
import { Priorities } from '../../src/shed/priorities.js'
import type { HealthOptions } from '../../src/shed/public.js'
import { Shedder } from '../../src/shed/shedder.js'
import type { WorkerReadings } from '../../src/shed/worker-probe.js'
import { turns } from '../http/behaviour/harness.js'

const closing: { close(): void }[] = []
afterEach(() => {
  for (const one of closing.splice(0)) one.close()
})

const calm: WorkerReadings = {
  eventLoopDelayMs: 0,
  eventLoopUtilization: 0,
  heapUsedBytes: 0,
  rssBytes: 0
}

/** A shedder of three priorities whose readings and clock the test sets. */
function shedder(health: HealthOptions, { shedsHighest = false } = {}) {
  const time = { now: 0, readings: calm, read: 0 }
  const made = new Shedder(
    {
      priorities: new Priorities(undefined, undefined),
      rooms: [1, 1, 1].map(() => Number.POSITIVE_INFINITY),
      shedsHighest,
      health: healthPlan('health', health),
      now: () => time.now
    },
    () => ({
      read() {
        time.read++
        return time.readings
      },
      close() {}
    })
  )
  closing.push(made)
  return Object.assign(made, {
    time,
    /** One sample of some readings, taken by a request. */
    sample(readings: Partial<WorkerReadings>) {
      time.readings = { ...calm, ...readings }
      time.now += 1
      return made.judge(0)
    }
  })
}

describe('samples', () => {
  it.each<[HealthOptions, Partial<WorkerReadings>, Partial<WorkerReadings>, string]>([
    [{ eventLoopDelay: '100ms' }, { eventLoopDelayMs: 99.9 }, { eventLoopDelayMs: 100 }, 'eventLoopDelay'],
    [
      { eventLoopUtilization: 0.9 },
      { eventLoopUtilization: 0.89 },
      { eventLoopUtilization: 0.9 },
      'eventLoopUtilization'
    ],
    [{ heapUsedBytes: 1000 }, { heapUsedBytes: 999 }, { heapUsedBytes: 1000 }, 'heapUsedBytes'],
    [{ rssBytes: 1000 }, { rssBytes: 999 }, { rssBytes: 1000 }, 'rssBytes']
  ])('are pressure from the threshold on: %j', (health, below, at, reason) => {
    const worker = shedder({ ...health, sampleInterval: 1 })
    worker.sample(below)
    expect(worker.state.level).toBe(0)
    worker.sample(at)
    expect(worker.state).toMatchObject({ level: 0.25, reasons: [reason] })
    worker.sample(at)
    worker.sample(at)
    worker.sample(at)
    expect([worker.judge(2), worker.judge(1), worker.judge(0)]).toEqual([reason, null, null])
  })

  it('are taken once an interval, by the request that finds one due', () => {
    const worker = shedder({ eventLoopUtilization: 0.5, sampleInterval: '2s' })
    expect(worker.time.read).toBe(1)
    for (const [now, read] of [
      [0, 1],
      [1999, 1],
      [2000, 2],
      [3999, 2],
      [60_000, 3],
      [60_001, 3]
    ] as const) {
      worker.time.now = now
      worker.judge(1)
      expect([now, worker.time.read]).toEqual([now, read])
    }
  })

  it('say what was read', () => {
    const worker = shedder({ eventLoopDelay: '1s', sampleInterval: 1 })
    worker.sample({ eventLoopDelayMs: 5, eventLoopUtilization: 0.5, heapUsedBytes: 7, rssBytes: 8 })
    expect(worker.state).toMatchObject({
      eventLoopDelayMs: 5,
      eventLoopUtilization: 0.5,
      heapUsedBytes: 7,
      rssBytes: 8,
      gauge: null
    })
  })
})

describe('a loop that is late', () => {
  /** A heartbeat that the test beats. */
  function heart(lateMs: number, isBusy = () => false) {
    const time = { now: 0 }
    const made = new Heartbeat({ now: () => time.now, lateMs, isBusy })
    closing.push({ close: () => made.stop() })
    return Object.assign(made, { time })
  }

  it('is late by what has passed since a beat was due, and by nothing while none is', () => {
    const one = heart(10)
    expect(one.lagMs(1000)).toBe(0)
    one.arm(1000)
    expect([1000, 1001, 1031].map((now) => one.lagMs(now))).toEqual([0, 0, 30])
    one.arm(1020)
    expect(one.lagMs(1031)).toBe(30)
    one.time.now = 1031
    one.beat()
    expect(one.lagMs(2000)).toBe(0)
  })

  it('has a queue that stands where a beat was late, for 100 ms from then on', () => {
    const one = heart(10)
    const turn = (ms: number) => {
      one.arm(one.time.now)
      const { isStanding } = one
      one.time.now += ms
      one.beat()
      return isStanding
    }
    expect([1, 10, 11, 200, 2, 9].map(turn)).toEqual([false, false, false, true, true, true])
    one.time.now = 322
    expect(turn(0)).toBe(true)
    one.time.now = 323
    expect(turn(1)).toBe(false)
  })

  it('goes on beating while there is work under way, for a second after the latest request', () => {
    let busy = true
    const one = heart(10, () => busy)
    const beatAt = (now: number) => {
      one.time.now = now
      one.beat()
      return one.lagMs(now + 50)
    }
    expect(beatAt(0)).toBe(0)
    one.arm(0)
    expect([1, 500, 1000].map(beatAt)).toEqual([45, 45, 45])
    // A socket that stays open is not what keeps a loop busy.
    expect(beatAt(1001)).toBe(0)
    one.arm(2000)
    busy = false
    expect(beatAt(2001)).toBe(0)
  })

  /** Requests of all ranks that come at some moment of one long turn. */
  const verdicts = (worker: ReturnType<typeof shedder>, now: number) => {
    worker.time.now = now
    return [2, 1, 0].map((rank) => worker.judge(rank))
  }

  it('sheds the lowest from half of the threshold on and the next from all of it, once the queue stands', async () => {
    const worker = shedder({ eventLoopDelay: 100, sampleInterval: '1h' })
    expect(verdicts(worker, 0)).toEqual([null, null, null])
    // One long turn is a pause.
    expect(verdicts(worker, 500)).toEqual([null, null, null])
    await beaten()
    expect(verdicts(worker, 500)).toEqual([null, null, null])
    expect(verdicts(worker, 550)).toEqual([null, null, null])
    expect(verdicts(worker, 551)).toEqual(['eventLoopDelay', null, null])
    expect(verdicts(worker, 601)).toEqual(['eventLoopDelay', 'eventLoopDelay', null])
    await beaten()
    expect(verdicts(worker, 602)).toEqual([null, null, null])
  })

  it('has the level rise where a priority is shed so while a lower one is not', async () => {
    const worker = shedder({ eventLoopDelay: 100, sampleInterval: 1000 })
    worker.judge(2)
    worker.time.now = 400
    await beaten()
    worker.judge(1)
    worker.time.now = 501
    expect(worker.judge(1)).toBe('eventLoopDelay')
    await beaten()
    worker.time.now = 1000
    worker.judge(1)
    expect(worker.state).toMatchObject({ level: 0.25, reasons: ['eventLoopDelay'] })
  })

  it('does not go unnoticed though the timer of the samples is late itself', () => {
    const worker = shedder({ eventLoopDelay: 100, sampleInterval: 1000 })
    worker.judge(2)
    // No timer has been called since.
    worker.time.now = 5000
    worker.judge(1)
    expect(worker.state).toMatchObject({ level: 0.5, eventLoopDelayMs: 4999 })
  })

  /** Waits for the beat that is armed: timers of one length are called in the order in which they were set. */
  async function beaten(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
})

describe('whatever happens', () => {
  const steps = fc.array(
    fc.record({
      passes: fc.nat(400),
      utilization: fc.double({ min: 0, max: 1, noNaN: true }),
      comes: fc.nat(4),
      goes: fc.nat(4)
    }),
    { maxLength: 60 }
  )

  it('none is shed at a moment at which a lower priority is admitted, and the highest never', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), (all, shedsHighest) => {
        const worker = shedder(
          { eventLoopUtilization: 0.6, inFlight: 6, eventLoopDelay: 300, sampleInterval: 100 },
          { shedsHighest }
        )
        for (const { passes, utilization, comes, goes } of all) {
          worker.time.now += passes
          worker.time.readings = { ...calm, eventLoopUtilization: utilization }
          for (let i = 0; i < comes; i++) worker.inFlight.enter(0)
          for (let i = 0; i < Math.min(goes, worker.inFlight.total); i++) worker.inFlight.leave(0)
          const [background, normal, critical] = [2, 1, 0].map((rank) => worker.judge(rank) !== null)
          if (critical) expect(normal).toBe(true)
          if (normal) expect(background).toBe(true)
          if (!shedsHighest) expect(critical).toBe(false)
        }
        worker.close()
      })
    )
  })
})

describe('a health check', () => {
  it('sheds all that may be shed until it says yes, and whenever it says no', async () => {
    let well: boolean | object = true
    const worker = shedder({ healthCheck: () => well })
    expect([worker.judge(2), worker.judge(1), worker.judge(0)]).toEqual(['healthCheck', 'healthCheck', null])
    expect(worker.state).toMatchObject({ isHealthy: false, isShedding: true, reasons: ['healthCheck'] })
    expect(await worker.ask()).toBe(true)
    expect(worker.judge(2)).toBe(null)
    expect(worker.state.isHealthy).toBe(true)
    well = false
    await worker.ask()
    expect(worker.state).toMatchObject({
      isHealthy: false,
      shares: { critical: 0, normal: 1, background: 1 }
    })
    well = { queue: 3 }
    expect(await worker.ask()).toEqual({ queue: 3 })
    expect(worker.judge(2)).toBe(null)
  })

  it('that throws, rejects or says nothing says no', async () => {
    for (const healthCheck of [
      () => {
        throw new Error('down')
      },
      async () => Promise.reject(new Error('down')),
      (async () => undefined) as never,
      (() => 'yes') as never
    ]) {
      const worker = shedder({ healthCheck })
      expect(await worker.ask()).toBe(false)
      expect(worker.state.isHealthy).toBe(false)
    }
  })
})

describe('a shedder that is closed', () => {
  it('sheds nothing for health any more', async () => {
    const worker = shedder({ eventLoopUtilization: 0.5, sampleInterval: 1, healthCheck: () => false })
    worker.sample({ eventLoopUtilization: 1 })
    await turns()
    worker.close()
    expect([0, 1, 2].map((rank) => worker.judge(rank))).toEqual([null, null, null])
    expect(worker.state).toMatchObject({ isShedding: false, isHealthy: true, level: 0 })
  })
})
