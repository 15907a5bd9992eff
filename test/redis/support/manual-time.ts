import { afterEach, beforeEach, vi } from 'vitest'

/** A server's clock and the monotonic one of the process, which tests move together. */
export interface ManualTime {
  /** ms, with parts of one. */
  ms: number
  /** The server's, which has whole ms. */
  readonly clock: () => number
}

/** Puts both clocks where a test says, in each test of the `describe` around it; nothing else is faked. */
export function manualTime(start: number): ManualTime {
  const time = { ms: 0, clock: () => start + Math.floor(time.ms) }
  beforeEach(() => {
    time.ms = 0
    vi.spyOn(performance, 'now').mockImplementation(() => time.ms)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  return time
}
