/** A source of time: whole milliseconds since the epoch. */
export type Clock = () => number

// Held here, for the global is an accessor; its method is looked up each time, for tests that fake it.
const clock = process
const [firstSecond, firstNanosecond] = clock.hrtime()
const origin = Math.floor(performance.timeOrigin + performance.now() - firstNanosecond / 1e6)

/** The clock's last time. What is nullable V8 keeps as a number of its own, so there is one a ms and not one a call. */
const last: { ms: number; now: number | null } = { ms: 0, now: null }

/**
 * The default clock: the wall clock as it was at start, carried on by the monotonic one, so it never steps. Of the
 * monotonic clocks of Node, `hrtime` is the quickest and allocates nothing (bench/decision.js, bench/allocation.js).
 */
export const monotonicClock: Clock = () => {
  const time = clock.hrtime()
  const ms = origin + (time[0] - firstSecond) * 1000 + Math.floor(time[1] / 1e6)
  if (ms !== last.ms) {
    last.ms = ms
    last.now = ms
  }
  return last.now as number
}

/**
 * Time as one policy's keys see it, for clocks that may step back: a step of up to a window is as if time stood
 * still, a longer one carries the keys' state over to the new time as it is. So nobody gets quota back, and
 * nobody is locked out for longer than a window.
 */
export class SteadyTime {
  /** How far the clock is behind the time that was last read, ms. Waits are longer by it. */
  lag = 0
  #latest = -1
  /** The steady time; nullable for the same reason as the clock's. */
  #time: number | null = null
  #offset = 0
  readonly #windowMs: number
  readonly #aligned: boolean

  constructor(windowMs: number, aligned: boolean) {
    this.#windowMs = windowMs
    this.#aligned = aligned
    this.#time = 0
  }

  /** The steady time at the last reading. */
  get now(): number {
    return this.#time as number
  }

  /** What a store that keeps it elsewhere saves, to be restored: the clock's last time, and how far this is ahead of it. */
  get saved(): [latest: number, offset: number] {
    return [this.#latest, this.#offset]
  }

  restore(latest: number, offset: number): void {
    this.#latest = latest
    this.#offset = offset
    this.#time = latest + offset
  }

  /** The steady time at the clock's `now`; never less than what it was before, or a phase of the same window. */
  read(now: number): number {
    if (now === this.#latest) this.lag = 0
    else this.#step(now)
    return this.#time as number
  }

  #step(now: number): void {
    if (now < this.#latest) this.#back(now)
    else {
      this.lag = 0
      this.#latest = now
      this.#time = this.#offset === 0 ? now : now + this.#offset
    }
  }

  #back(now: number): void {
    const step = this.#latest - now
    const latest = this.#latest + this.#offset
    if (step <= this.#windowMs) {
      this.lag = step
      return
    }
    const target = this.#aligned
      ? startOf(latest, this.#windowMs) + now - startOf(now, this.#windowMs)
      : latest
    this.#latest = now
    this.#offset = target - now
    this.lag = 0
    this.#time = target
  }
}

function startOf(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}
