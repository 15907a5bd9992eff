/**
 * A sliding log by its definition: the instant of every unit, oldest first, in runs of equal ones. It may be charged
 * past its limit; it then keeps the newest units, as many as the largest limit since it was empty.
 */
export class UnitLog {
  readonly #windowMs: number
  #runs: { readonly at: number; units: number }[] = []
  #most = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  check(limit: number, now: number, cost: number): number[] {
    const live = this.#live(now)
    const over = live.reduce((sum, { units }) => sum + units, 0) + cost - limit
    let gone = 0
    const last = live.find(({ units }) => {
      gone += units
      return gone >= over
    })
    const left = (run: { readonly at: number } | undefined) =>
      run === undefined ? 0 : run.at + this.#windowMs - now
    const remaining = cost - over
    return [Math.max(0, remaining), over > 0 ? left(last) : 0, left(live.at(-1))]
  }

  charge(limit: number, now: number, cost: number): void {
    this.#runs = this.#live(now)
    if (this.#runs.length === 0) this.#most = 0
    if (this.#most < limit) this.#most = limit
    this.#runs.push({ at: now, units: Math.min(cost, limit) })
    let excess = this.#runs.reduce((sum, { units }) => sum + units, 0) - this.#most
    for (const run of this.#runs) {
      if (excess <= 0) break
      const dropped = Math.min(run.units, excess)
      run.units -= dropped
      excess -= dropped
    }
  }

  /** Takes the newest units that were charged at or before `chargedAt`. */
  refund(now: number, cost: number, chargedAt: number): void {
    this.#runs = this.#live(now)
    let left = cost
    for (const run of this.#runs.toReversed()) {
      if (run.at > chargedAt) continue
      const given = Math.min(run.units, left)
      run.units -= given
      left -= given
    }
  }

  #live(now: number) {
    return this.#runs.filter(({ at, units }) => units > 0 && at > now - this.#windowMs)
  }
}
