/** A source of time: whole milliseconds since the epoch. */
export type Clock = () => number

// Held here, for the global is an accessor; its methods are looked up each time, for tests that fake them.
const clock = performance
const { timeOrigin } = clock

/** The default clock: the wall clock as it was at start, carried on by the monotonic one, so it never steps. */
export const monotonicClock: Clock = () => Math.floor(timeOrigin + clock.now())

/**
 * Time as one policy's keys see it, for clocks that may step back: a step of up to a window is as if time stood
 * still, a longer one carries the keys' state over to the new time as it is. So nobody gets quota back, and
 * nobody is locked out for longer than a window.
 */
export class SteadyTime {
  /** How far the clock is behind the time that was last read, ms. Waits are longer by it. */
  lag = 0
  #latest = 0
  #offset = 0
  readonly #windowMs: number
  readonly #aligned: boolean

  constructor(windowMs: number, aligned: boolean) {
    this.#windowMs = windowMs
    this.#aligned = aligned
  }

  /** The steady time at the clock's `now`; never less than what it was before, or a phase of the same window. */
  read(now: number): number {
    if (now >= this.#latest) {
      this.#latest = now
      this.lag = 0
      return now + this.#offset
    }
    return this.#back(now)
  }

  #back(now: number): number {
    const step = this.#latest - now
    const latest = this.#latest + this.#offset
    if (step <= this.#windowMs) {
      this.lag = step
      return latest
    }
    const target = this.#aligned
      ? startOf(latest, this.#windowMs) + now - startOf(now, this.#windowMs)
      : latest
    this.#latest = now
    this.#offset = target - now
    this.lag = 0
    return target
  }
}

function startOf(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}
