/** Over how many of the last requests their time is averaged, about. */
const memory = 64

/** After the first, one of so many is looked at: a look at the clock takes as long as all else that a
 * release does, and an instant is an object of its own. */
const sampling = 8

/** How long work holds its permits, as a moving average: so that waits can be estimated. */
export class ServiceTimes {
  #meanMs = 0
  #count = 0
  #taken = 0

  /** True for work that begins now and whose time is to be told to `see`. */
  isDue(): boolean {
    return this.#taken++ < memory || this.#taken % sampling === 0
  }

  see(heldMs: number): void {
    if (this.#count < memory) this.#count++
    this.#meanMs += (heldMs - this.#meanMs) / this.#count
  }

  /**
   * How long one waits, ms, until `units` permits of `limit` that are all out have come back one after the other; `NaN` as
   * long as none has.
   */
  waitMs(units: number, limit: number): number {
    if (this.#count === 0) return Number.NaN
    return Math.max(1, Math.ceil((this.#meanMs * units) / limit))
  }
}
