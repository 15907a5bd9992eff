import { shown } from '../core/options.js'
import { isPromiseLike } from '../core/promise.js'
import { warn } from '../core/warn.js'

/** The longest that a Node timer can wait; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1

/** The longest that a check may take, however rarely it is asked. Whoever asks for the status waits for it. */
const longestAnswerMs = 5000

/** What a health check says: true or an object where all is well, false where it is not. */
export type HealthCheckResult = boolean | object

/** A check of the user's, such as of a database. */
export type HealthCheck = () => HealthCheckResult | PromiseLike<HealthCheckResult>

/**
 * Asks the user's check again and again. Nothing is healthy before it has said so; a check that throws, rejects, or has not
 * answered when the next one is due, or in 5 s, says that it is not. The next one is asked whatever became of it; from then
 * on it is not heard.
 */
export class HealthWatch {
  readonly #check: HealthCheck
  readonly #patienceMs: number
  readonly #timer: NodeJS.Timeout
  #isHealthy = false
  #isStopped = false
  /** Counts askings: of those that overtake one another, the one that was asked last counts. */
  #latest = 0
  /** The one that may still answer in time. Those that were given up are not kept. */
  #underWay: Asking | null = null
  #hasWarned = false

  constructor(check: HealthCheck, intervalMs: number) {
    this.#check = check
    this.#patienceMs = Math.min(intervalMs, longestAnswerMs)
    this.#timer = setTimeout(() => this.#tick(), Math.min(intervalMs, longestTimerMs)).unref()
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /**
   * Asks now, or waits for the answer of the check that is under way. Gives what it said, and false where it failed or did
   * not answer in time; true once the watch is stopped.
   */
  ask(): Promise<HealthCheckResult> {
    if (this.#isStopped) return Promise.resolve(true)
    return this.#underWay?.answer ?? this.#ask()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#latest = Number.POSITIVE_INFINITY
    this.#underWay?.end(false)
  }

  /** An interval has passed since the latest asking. */
  #tick(): void {
    this.#giveUp()
    void this.#ask()
  }

  #giveUp(): void {
    if (this.#underWay === null) return
    this.#warn(new Error(`it did not answer within ${this.#patienceMs} ms`))
    this.#isHealthy = false
    this.#underWay.end(false)
  }

  #ask(): Promise<HealthCheckResult> {
    this.#timer.refresh()
    const turn = ++this.#latest
    try {
      const said: unknown = this.#check()
      return isPromiseLike(said) ? this.#await(turn, said) : Promise.resolve(this.#hear(turn, said))
    } catch (error) {
      return Promise.resolve(this.#fail(turn, error))
    }
  }

  #await(turn: number, said: PromiseLike<unknown>): Promise<HealthCheckResult> {
    const timer = setTimeout(() => this.#giveUp(), this.#patienceMs).unref()
    let end!: (result: HealthCheckResult) => void
    const answer = new Promise<HealthCheckResult>((resolve) => {
      end = (result) => {
        clearTimeout(timer)
        if (this.#underWay === asking) this.#underWay = null
        resolve(result)
      }
    })
    const asking: Asking = { answer, end }
    this.#underWay = asking
    Promise.resolve(said)
      .then((result) => this.#hear(turn, result))
      .catch((error: unknown) => this.#fail(turn, error))
      .then(end)
    return answer
  }

  /** @throws if it is no answer */
  #hear(turn: number, said: unknown): HealthCheckResult {
    const result = readResult(said)
    if (turn === this.#latest) this.#isHealthy = result !== false
    return result
  }

  #fail(turn: number, error: unknown): false {
    this.#warn(error)
    if (turn === this.#latest) this.#isHealthy = false
    return false
  }

  #warn(error: unknown): void {
    if (this.#hasWarned || this.#isStopped) return
    this.#hasWarned = true
    const reason = error instanceof Error ? error.message : shown(error)
    warn('HEADGATE_HEALTH_FAILED', `\`healthCheck\` failed, so the worker counts as unhealthy: ${reason}`)
  }
}

/** One asking of the check that has not ended. */
interface Asking {
  readonly answer: Promise<HealthCheckResult>
  readonly end: (result: HealthCheckResult) => void
}

function readResult(said: unknown): HealthCheckResult {
  if (typeof said === 'boolean' || (typeof said === 'object' && said !== null)) return said
  throw new Error(`it returned ${shown(said)}: return true, false, or an object where all is well`)
}
