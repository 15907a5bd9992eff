const { monitorEventLoopDelay, performance } = process.getBuiltinModule('node:perf_hooks')

/** What this worker is like, over the time since it was last looked at. */
export interface WorkerReadings {
  readonly eventLoopDelayMs: number
  /** 0 to 1. */
  readonly eventLoopUtilization: number
  readonly heapUsedBytes: number
  readonly rssBytes: number
}

/** What looks at the worker. */
export interface Probe {
  read(): WorkerReadings
  close(): void
}

/** How often Node looks whether the loop is late, ms. */
const resolutionMs = 10

/**
 * Looks at this process and its event loop. Each reading is of the interval since the one before.
 *
 * The delay is the mean of Node's histogram, as in @fastify/under-pressure, so that thresholds mean the same in both. Of the
 * hundred delays in a second the 99th percentile would be the longest or the one before it: a single collection of
 * garbage.
 */
export function workerProbe(): Probe {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  let before = performance.eventLoopUtilization()
  return {
    read() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, before)
      before = now
      // Nothing is in it where the loop did not turn at all since it was reset: whoever asks has its lag from elsewhere.
      const delay = histogram.count === 0 ? 0 : histogram.mean / 1e6 - resolutionMs
      histogram.reset()
      const { heapUsed, rss } = process.memoryUsage()
      return {
        eventLoopDelayMs: Math.max(0, delay),
        // NaN where no time has passed.
        eventLoopUtilization: utilization || 0,
        heapUsedBytes: heapUsed,
        rssBytes: rss
      }
    },
    close() {
      histogram.disable()
    }
  }
}
