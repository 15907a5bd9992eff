import { shown } from '../core/options.js'
import { isPromiseLike } from '../core/promise.js'
import { warn } from '../core/warn.js'

/** The longest that a Node timer can wait; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1

/** What a health check says: true or an object where all is well, false where it is not. */
export type HealthCheckResult = boolean | object

/** A check of the user's, such as of a database. */
export type HealthCheck = () => HealthCheckResult | PromiseLike<HealthCheckResult>

/**
 * Asks the user's check again and again. Nothing is healthy before it has said so; a check that throws, rejects, or has not
 * answered when the next one is due says that it is not.
 */
export class HealthWatch {
  readonly #check: HealthCheck
  readonly #timer: NodeJS.Timeout
  #isHealthy = false
  #underWay = 0
  #asked = 0
  #hasWarned = false

  constructor(check: HealthCheck, intervalMs: number) {
    this.#check = check
    this.#timer = setTimeout(() => this.#tick(), Math.min(intervalMs, longestTimerMs)).unref()
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** Asks now. Gives what the check said; false where it failed. */
  async ask(): Promise<HealthCheckResult> {
    const turn = ++this.#asked
    this.#underWay++
    let result: HealthCheckResult = false
    try {
      const said = this.#check()
      result = readResult(isPromiseLike(said) ? await said : said)
    } catch (error) {
      this.#warn(error)
    }
    this.#underWay--
    // Of checks that overtake one another, the one that was asked last counts.
    if (turn === this.#asked) this.#isHealthy = result !== false
    return result
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#asked = Number.POSITIVE_INFINITY
  }

  #tick(): void {
    if (this.#underWay > 0) this.#isHealthy = false
    else void this.ask()
    this.#timer.refresh()
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const reason = error instanceof Error ? error.message : shown(error)
    warn('HEADGATE_HEALTH_FAILED', `\`healthCheck\` failed, so the worker counts as unhealthy: ${reason}`)
  }
}

function readResult(said: unknown): HealthCheckResult {
  if (typeof said === 'boolean' || (typeof said === 'object' && said !== null)) return said
  throw new Error(`it returned ${shown(said)}: return true, false, or an object where all is well`)
}
