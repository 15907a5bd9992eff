/** How long after a request has armed it a beat is due, ms: as soon as Node's timers can. */
const soonMs = 1

/** The same where nothing but work under way keeps it beating. */
const busyMs = 5

/** For how long after a late beat a queue is taken to stand, ms: a turn on time in between is no end of it. */
const standingMs = 100

/** For how long after the latest request it does so, ms: sockets may stay open for days. */
const memoryMs = 1000

/** What arms and measures a heartbeat. */
export interface HeartbeatTerms {
  readonly now: () => number
  /** How late a beat must be to show that requests queue, ms. */
  readonly lateMs: number
  /** True while there is work that may keep the event loop busy without a new request. */
  readonly isBusy: () => boolean
}

/**
 * Tells a request how late the event loop is at this moment. A timer is armed by requests, and the loop calls it back before
 * it reads from sockets again: until then, whatever is due is late by as much as the timer. So what is queued in the sockets
 * shows while it is being read, and not one sample later.
 *
 * One long turn is a pause, such as a collection of garbage. Only when a beat shortly before was late, too, is there a queue
 * that stands.
 */
export class Heartbeat {
  readonly #now: () => number
  readonly #lateMs: number
  readonly #isBusy: () => boolean
  /** One of these is armed at a time. */
  readonly #soon: NodeJS.Timeout
  readonly #later: NodeJS.Timeout
  /** When the armed beat is due; `Infinity` while none is. */
  #dueMs = Number.POSITIVE_INFINITY
  #isStanding = false
  #standsUntilMs = Number.NEGATIVE_INFINITY
  /** When a request has asked last. */
  #askedMs = Number.NEGATIVE_INFINITY

  constructor({ now, lateMs, isBusy }: HeartbeatTerms) {
    this.#now = now
    this.#lateMs = lateMs
    this.#isBusy = isBusy
    this.#soon = setTimeout(() => this.beat(), soonMs).unref()
    this.#later = setTimeout(() => this.beat(), busyMs).unref()
  }

  /** How late the loop is, ms; 0 if it is not. */
  lagMs(now: number): number {
    return now > this.#dueMs ? now - this.#dueMs : 0
  }

  /** True if, when this turn of the loop began, a beat had been late shortly before. */
  get isStanding(): boolean {
    return this.#isStanding
  }

  /** Has the next turn of the loop tell how late it is. */
  arm(now: number): void {
    this.#askedMs = now
    if (this.#dueMs !== Number.POSITIVE_INFINITY) return
    this.#begin(now, soonMs)
    this.#soon.refresh()
  }

  /** @internal What the timer calls. */
  beat(): void {
    const now = this.#now()
    if (this.lagMs(now) >= this.#lateMs) this.#standsUntilMs = now + standingMs
    this.#dueMs = Number.POSITIVE_INFINITY
    if (now - this.#askedMs > memoryMs || !this.#isBusy()) return
    this.#begin(now, busyMs)
    this.#later.refresh()
  }

  #begin(now: number, ms: number): void {
    this.#dueMs = now + ms
    this.#isStanding = now <= this.#standsUntilMs
  }

  stop(): void {
    clearTimeout(this.#soon)
    clearTimeout(this.#later)
    // Never armed again.
    this.#dueMs = Number.NaN
    this.#isStanding = false
  }
}
