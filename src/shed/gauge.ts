import { shown } from '../core/options.js'
import { warn } from '../core/warn.js'

/** Reads a gauge of the user's. Where it fails, its last reading stands in for it, with one warning. */
export class GaugeReader {
  readonly #gauge: () => number
  #last = 0
  #hasWarned = false

  constructor(gauge: () => number) {
    this.#gauge = gauge
  }

  read(): number {
    try {
      const value: unknown = this.#gauge()
      if (typeof value !== 'number' || Number.isNaN(value))
        throw new Error(`it returned ${shown(value)}, which is no number`)
      this.#last = value
    } catch (error) {
      this.#warn(error)
    }
    return this.#last
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const reason = error instanceof Error ? error.message : shown(error)
    warn('HEADGATE_HEALTH_FAILED', `\`gauge\` failed, so its last reading stands for it: ${reason}.`)
  }
}
