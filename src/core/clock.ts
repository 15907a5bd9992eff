/** A source of time: whole milliseconds since the epoch. */
export type Clock = () => number

/** Where a clock has its time from. What is replaced in them, as tests do, is noticed. */
export interface TimeSources {
  readonly process: { readonly hrtime: () => readonly [number, number] }
  readonly globals: { readonly Date: { readonly now: () => number } }
}

/** How far the wall clock may be ahead before that is no adjustment of it, but time that has passed, ms. */
const adjustmentMs = 2000

/**
 * A clock that begins as the wall clock and is carried on by the monotonic one, so that no adjustment of the wall clock
 * moves it. Once a second it looks at the wall: if that is ahead by more than an adjustment, the machine was suspended,
 * where the monotonic clock may stand still, and it follows. It never goes back.
 *
 * Time that a test moves is time: where `Date` or `hrtime` is replaced it goes on from where it was, and for as long as
 * `Date` is not Node's own each reading follows its steps forward.
 */
export function clockFrom(sources: TimeSources, isNative = isNodesOwn): Clock {
  const { process, globals } = sources
  const wall = new Wall(sources, isNative)
  const origin = wall.ms - msOf(process.hrtime())
  /** How far this clock has gone ahead of the monotonic one since, ms. */
  let shift = 0
  /** What was read last. What is nullable V8 keeps as a number of its own, so there is one a ms and not one a call. */
  const last: { ms: number; now: number | null } = { ms: 0, now: null }
  let wallNow = globals.Date.now
  /** The monotonic second in which the wall was looked at. */
  let second = -1

  function step(time: readonly [number, number]): number {
    const isOther = wall.isOther()
    const before = last.now ?? wall.ms
    let ms = origin + shift + msOf(time)
    if (isOther || wall.isFake || time[0] !== second || ms < before) {
      second = time[0]
      wallNow = globals.Date.now
      // Another source, or one that went back: it goes on from where it was.
      ms = wall.follow(isOther ? before : Math.max(ms, before), isOther)
      shift = ms - origin - msOf(time)
    }
    // What is not Node's own is looked at each time.
    last.ms = wall.isFake ? -1 : ms
    last.now = ms
    return ms
  }

  return () => {
    const time = process.hrtime()
    const ms = origin + shift + time[0] * 1000 + Math.floor(time[1] / 1e6)
    return ms !== last.ms || globals.Date.now !== wallNow ? step(time) : (last.now as number)
  }
}

/** The wall clock, and what a clock makes of it. */
class Wall {
  /** What it was when it was last looked at. */
  ms: number
  /** True for one that tests have put in the place of Node's. */
  isFake: boolean
  readonly #sources: TimeSources
  readonly #isNative: (now: () => number) => boolean
  #hrtime: () => readonly [number, number]
  #now: () => number
  /** The clock, when the wall was last looked at. */
  #clockMs = 0

  constructor(sources: TimeSources, isNative: (now: () => number) => boolean) {
    this.#sources = sources
    this.#isNative = isNative
    this.#hrtime = sources.process.hrtime
    this.#now = sources.globals.Date.now
    this.ms = Math.floor(sources.globals.Date.now())
    this.isFake = !isNative(this.#now)
  }

  /** True if a source of time is not the one that it was. */
  isOther(): boolean {
    const { process, globals } = this.#sources
    const { hrtime } = process
    const { now } = globals.Date
    if (hrtime === this.#hrtime && now === this.#now) return false
    this.#hrtime = hrtime
    this.#now = now
    this.isFake = !this.#isNative(now)
    return true
  }

  /** The time that a clock at `ms` is to have, never an earlier one. */
  follow(ms: number, isOther: boolean): number {
    const wall = Math.floor(this.#sources.globals.Date.now())
    if (!Number.isSafeInteger(wall)) return ms
    const moved = this.isFake ? this.#clockMs + wall - this.ms : 0
    const isAhead = wall - ms > (this.isFake || isOther ? 0 : adjustmentMs)
    this.ms = wall
    this.#clockMs = Math.max(ms, moved, isAhead ? wall : 0)
    return this.#clockMs
  }
}

function msOf([seconds, nanoseconds]: readonly [number, number]): number {
  return seconds * 1000 + Math.floor(nanoseconds / 1e6)
}

function isNodesOwn(method: () => number): boolean {
  return Function.prototype.toString.call(method).includes('[native code]')
}

/**
 * The default clock. Of the monotonic clocks of Node, `hrtime` is the quickest and allocates nothing (bench/decision.js,
 * bench/allocation.js).
 */
export const monotonicClock: Clock = clockFrom({ process, globals: globalThis })

/**
 * Time as one policy's keys see it, for clocks that may step back: a step of up to a window is as if time stood
 * still, a longer one carries the keys' state over to the new time as it is. So nobody gets quota back, and
 * nobody is locked out for more than a window longer.
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
