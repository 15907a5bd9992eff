import { Health } from './health.js'
import { type HealthCheckResult, HealthWatch } from './health-check.js'
import { InFlight } from './in-flight.js'
import type { ShedPlan } from './options.js'
import type { ShedReason, ShedState } from './state.js'
import { type Probe, workerProbe } from './worker-probe.js'

/** For how long the state of a shedder without samples shows that something was shed at once, ms. */
const memoryMs = 1000

/** What of a plan a shedder goes by. */
export type ShedderPlan = Pick<
  ShedPlan<never, never>,
  'priorities' | 'rooms' | 'shedsHighest' | 'health' | 'now'
>

/** Decides which requests are shed, by their ranks alone. It knows nothing of HTTP. */
export class Shedder {
  readonly inFlight: InFlight
  readonly #plan: ShedderPlan
  #health: Health | null
  readonly #check: HealthWatch | null
  readonly #now: () => number
  /** When a request was shed last for each reason. */
  readonly #shedAt = new Map<ShedReason, number>()

  /** @param makeProbe what looks at the worker; tests give their own */
  constructor(plan: ShedderPlan, makeProbe: () => Probe = workerProbe) {
    const { rooms, health, shedsHighest, now } = plan
    this.#plan = plan
    this.#now = now
    this.inFlight = new InFlight(rooms)
    this.#check =
      health === null || health.healthCheck === null
        ? null
        : new HealthWatch(health.healthCheck, health.healthCheckIntervalMs)
    const levels = { count: rooms.length, shedsHighest }
    this.#health =
      health === null
        ? null
        : new Health({
            plan: health,
            levels,
            inFlight: this.inFlight,
            probe: makeProbe(),
            check: this.#check,
            now
          })
  }

  /** Why a request of a rank is shed; null where it is admitted. Whoever admits it has `inFlight` know. */
  judge(rank: number): ShedReason | null {
    const reason = this.inFlight.hasRoom(rank) ? (this.#health?.judge(rank) ?? null) : 'concurrency'
    if (reason !== null) this.#shedAt.set(reason, this.#now())
    return reason
  }

  /** Asks the user's health check now: what it said, false where it failed, and true where there is none. */
  ask(): Promise<HealthCheckResult> {
    return this.#check === null ? Promise.resolve(true) : this.#check.ask()
  }

  get state(): ShedState {
    const health = this.#health
    health?.catchUp()
    const { names } = this.#plan.priorities
    const readings = health?.readings
    const reasons = this.#reasons()
    return {
      isShedding: reasons.length > 0,
      isHealthy: health?.isHealthy ?? true,
      level: health?.levels.level ?? 0,
      shares: Object.fromEntries(names.map((name, rank) => [name, health?.shareOf(rank) ?? 0])),
      reasons,
      inFlight: this.inFlight.total,
      eventLoopDelayMs: readings?.eventLoopDelay ?? null,
      eventLoopUtilization: readings?.eventLoopUtilization ?? null,
      heapUsedBytes: readings?.heapUsedBytes ?? null,
      rssBytes: readings?.rssBytes ?? null,
      gauge: this.#plan.health?.readGauge ? (readings?.gauge ?? null) : null
    }
  }

  /** Stops all timers. Nothing is shed for health any more. */
  close(): void {
    this.#health?.stop()
    this.#health = null
    this.#check?.stop()
  }

  #reasons(): readonly ShedReason[] {
    const since = this.#now() - (this.#plan.health?.sampleIntervalMs ?? memoryMs)
    const recent = [...this.#shedAt].filter(([, at]) => at > since).map(([reason]) => reason)
    return [...new Set([...recent, ...(this.#health?.reasons ?? [])])]
  }
}
