import { GaugeReader } from './gauge.js'
import { type HealthWatch, longestTimerMs } from './health-check.js'
import type { HealthPlan } from './health-options.js'
import { Heartbeat } from './heartbeat.js'
import type { InFlight } from './in-flight.js'
import { easedPressure, Levels, type LevelTerms } from './levels.js'
import { pressing, pressure, type Readings, type Signal } from './signals.js'
import type { Probe } from './worker-probe.js'

/** Why a request is shed for the health of its worker. */
export type HealthReason = Signal | 'healthCheck'

/** What a watch of health is made of. */
export interface HealthTerms {
  readonly plan: HealthPlan
  readonly levels: LevelTerms
  readonly inFlight: InFlight
  readonly probe: Probe
  readonly check: HealthWatch | null
  readonly now: () => number
}

/**
 * Says what the health of this worker allows. It works at two speeds. A sample each interval moves the level, by which a
 * share of each priority is shed: it rises in steps and comes back slowly. And each request looks at what can be seen at
 * once: how late the event loop is, and how many requests are in flight. At the threshold all that may be shed is; each
 * priority below that begins earlier, the lower of two at half of it. Where one is shed so while one below is still
 * admitted, the level rises, so that the lowest goes first.
 *
 * The timer of the samples is late itself where the loop is blocked. So a request that finds a sample due takes it.
 */
export class Health {
  readonly levels: Levels
  readonly #plan: HealthPlan
  readonly #inFlight: InFlight
  readonly #probe: Probe
  readonly #check: HealthWatch | null
  readonly #now: () => number
  readonly #gauge: GaugeReader | null
  readonly #heartbeat: Heartbeat | null
  readonly #timer: NodeJS.Timeout
  /** By rank, the parts of a threshold from which it is shed at once; `Infinity` for one that never is. */
  readonly #patience: readonly number[]
  #readings: Readings
  #sampledAt: number
  /** Of those that were shed at once since the last sample; null where none was. */
  #highestShed: number | null = null
  #shedFor: Signal = 'eventLoopDelay'
  /** What has brought the level about. */
  #causes: readonly Signal[] = []

  constructor({ plan, levels, inFlight, probe, check, now }: HealthTerms) {
    this.#plan = plan
    this.#inFlight = inFlight
    this.#probe = probe
    this.#check = check
    this.#gauge = plan.readGauge === null ? null : new GaugeReader(plan.readGauge)
    this.#now = now
    this.levels = new Levels(levels)
    const { count, shedsHighest } = levels
    const sheddable = shedsHighest ? count : count - 1
    this.#patience = Array.from({ length: count }, (_, rank) =>
      rank === 0 && !shedsHighest ? Number.POSITIVE_INFINITY : (count - rank) / sheddable
    )
    const delay = plan.thresholds.eventLoopDelay
    this.#heartbeat =
      delay === undefined
        ? null
        : new Heartbeat({
            now,
            lateMs: (delay / sheddable) * easedPressure,
            isBusy: () => inFlight.total > 0
          })
    this.#sampledAt = now()
    this.#readings = this.#read(this.#sampledAt)
    this.#timer = setTimeout(() => this.#tick(), Math.min(plan.sampleIntervalMs, longestTimerMs)).unref()
  }

  get readings(): Readings {
    return this.#readings
  }

  /** What presses, or has pressed and is not forgotten yet. */
  get reasons(): readonly HealthReason[] {
    return this.#check?.isHealthy === false ? ['healthCheck', ...this.#causes] : this.#causes
  }

  get isHealthy(): boolean {
    return this.#check?.isHealthy !== false && !this.levels.isFull
  }

  /** What part of a priority is shed, 0 to 1, besides what each request finds at once. */
  shareOf(rank: number): number {
    if (this.#check?.isHealthy === false && this.#mayShed(rank)) return 1
    return this.levels.shareOf(rank)
  }

  /** Why a request of a rank is to be shed; null where it is not. */
  judge(rank: number): HealthReason | null {
    const now = this.#now()
    this.catchUp(now)
    const lag = this.#heartbeat === null ? 0 : this.#heartbeat.lagMs(now)
    this.#heartbeat?.arm(now)
    this.levels.see(rank)
    if (!this.#mayShed(rank)) return null
    if (this.#check?.isHealthy === false) return 'healthCheck'
    const { eventLoopDelay = Number.POSITIVE_INFINITY, inFlight = Number.POSITIVE_INFINITY } =
      this.#plan.thresholds
    const patience = this.#patience[rank]!
    if (lag >= eventLoopDelay * patience && this.#heartbeat!.isStanding)
      return this.#shedAtOnce(rank, 'eventLoopDelay')
    if (this.#inFlight.total >= inFlight * patience) return this.#shedAtOnce(rank, 'inFlight')
    return this.levels.sheds(rank) ? (this.#causes[0] ?? null) : null
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#heartbeat?.stop()
    this.#probe.close()
    this.levels.clear()
    this.#causes = []
    this.#sampledAt = Number.POSITIVE_INFINITY
  }

  #shedAtOnce(rank: number, signal: Signal): Signal {
    if (this.#highestShed === null || rank <= this.#highestShed) {
      this.#highestShed = rank
      this.#shedFor = signal
    }
    return signal
  }

  #mayShed(rank: number): boolean {
    return this.#patience[rank] !== Number.POSITIVE_INFINITY
  }

  #tick(): void {
    this.catchUp()
    this.#timer.refresh()
  }

  /** Takes a sample if one is due. */
  catchUp(now: number = this.#now()): void {
    if (now - this.#sampledAt < this.#plan.sampleIntervalMs) return
    this.#sampledAt = now
    this.#readings = this.#read(now)
    const { sampled } = this.#plan
    const pressed = pressing(this.#readings, sampled, 1)
    const isUnfair = this.#highestShed !== null && this.#highestShed < this.levels.lowestOpen
    this.levels.step(Math.max(pressure(this.#readings, sampled), isUnfair ? 1 : 0))
    if (pressed.length > 0) this.#causes = pressed
    else if (isUnfair) this.#causes = [this.#shedFor]
    else if (this.levels.level === 0) this.#causes = []
    this.#highestShed = null
  }

  #read(now: number): Readings {
    const worker = this.#probe.read()
    return {
      eventLoopDelay: Math.max(worker.eventLoopDelayMs, this.#heartbeat?.lagMs(now) ?? 0),
      eventLoopUtilization: worker.eventLoopUtilization,
      heapUsedBytes: worker.heapUsedBytes,
      rssBytes: worker.rssBytes,
      inFlight: this.#inFlight.total,
      gauge: this.#gauge?.read() ?? 0
    }
  }
}
