import { isPromiseLike } from './promise.js'
import { kept, type Verdict } from './verdict.js'
import { type Leaver, Line, Waiter, type Wanted, widest } from './waiter.js'

/** How often the first of a line looks whether others have released permits unseen, ms. */
const lookMs = 25

/** How lines work. */
export interface LineSettings {
  /** How many may wait for each key. */
  readonly most: number
  readonly maxWaitMs: number
  /** True where permits may be released without `released` being called: then the first of each line looks now and then. */
  readonly looks: boolean
}

/** Those who wait for permits: for each key in the order of their arrival, a few of them, and for a while. */
export class WaitingLine {
  readonly #settings: LineSettings
  readonly #lines = new Map<string, Line>()
  #isClosed = false
  #looking: ReturnType<typeof setInterval> | undefined

  constructor(settings: LineSettings) {
    this.#settings = settings
  }

  /** How many wait for a key. */
  length(key: string): number {
    return this.#lines.get(key)?.waiters.length ?? 0
  }

  /** What the last of a line would be answered now; undefined where nobody waits. */
  denialOf(key: string): Verdict | undefined {
    return this.#lines.get(key)?.waiters.at(-1)?.denial
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True where one more may wait for a key. */
  hasRoom(key: string): boolean {
    return !this.#isClosed && this.length(key) < this.#settings.most
  }

  /**
   * Waits at the end of a line.
   * @param denial what is answered if nothing becomes free
   * @returns the verdict, or null once `leaver` has left
   */
  join(wanted: Wanted, denial: Verdict, leaver: Leaver | null): Promise<Verdict | null> {
    return new Promise((resolve) => {
      const waiter = new Waiter(wanted, denial, leaver, resolve)
      const line = this.#lines.get(wanted.key) ?? new Line()
      this.#lines.set(wanted.key, line)
      line.waiters.push(waiter)
      waiter.timer = setTimeout(() => this.#end(waiter, waiter.denial), this.#settings.maxWaitMs)
      if (leaver !== null) leaver.giveUp = () => this.#end(waiter, null)
      if (this.#settings.looks) this.#looking ??= setInterval(() => this.#lookAll(), lookMs)
      // Permits may have come back while its first denial was on its way.
      if (this.#settings.looks && line.waiters.length === 1) this.#serve(wanted.key)
    })
  }

  /** To be called when permits of a key have come back: lets in those at the head of its line for whom there are some now. */
  released(key: string): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    line.returned++
    this.#serve(key)
  }

  /** Ends all waits, now and later. */
  close(): void {
    this.#isClosed = true
    for (const line of [...this.#lines.values()])
      for (const waiter of [...line.waiters]) this.#end(waiter, { ...waiter.denial, source: 'closed' })
  }

  #serve(key: string): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    line.isDue = line.isAsking
    if (line.isAsking) return
    for (let wave = line.wave(); wave.length > 0; wave = line.wave()) {
      line.returned = 0
      const first = ask(wave[0]!)
      if (isPromiseLike<Verdict>(first)) {
        this.#serveLate(key, line, wave, [first, ...wave.slice(1).map(ask)])
        return
      }
      if (!this.#hear(wave[0]!, first)) return
    }
  }

  /** Asks a store outside the process for several at once: one after the other would wait for a round trip each. */
  #serveLate(
    key: string,
    line: Line,
    wave: readonly Waiter[],
    answers: (Verdict | Promise<Verdict>)[]
  ): void {
    line.isAsking = true
    void Promise.allSettled(answers).then((settled) => {
      let admitted = 0
      // What fails is for the user's own functions to tell: the wait ends as if nothing had become free.
      for (const [i, answer] of settled.entries())
        if (answer.status === 'rejected') this.#end(wave[i]!, wave[i]!.denial)
        else if (this.#hear(wave[i]!, answer.value)) admitted++
      line.isAsking = false
      const areAllIn = admitted === wave.length
      line.width = areAllIn ? Math.min(widest, 2 * wave.length) : Math.max(1, admitted)
      if (areAllIn || line.isDue) this.#serve(key)
    })
  }

  /** Takes the answer to somebody; true if he is out of the line now. */
  #hear(waiter: Waiter, verdict: Verdict): boolean {
    if (waiter.isOver) {
      if (verdict.isAllowed) waiter.wanted.giveBack(verdict)
      return true
    }
    if (!verdict.isAllowed && waiter.wanted.isWorthwhile(verdict)) {
      waiter.denial = kept(verdict)
      return false
    }
    this.#remove(waiter)
    waiter.end(kept(verdict))
    return true
  }

  #end(waiter: Waiter, verdict: Verdict | null): void {
    if (waiter.isOver) return
    const wasFirst = this.#lines.get(waiter.wanted.key)?.waiters[0] === waiter
    this.#remove(waiter)
    waiter.end(verdict)
    // Whoever is behind may want fewer.
    if (wasFirst) this.#serve(waiter.wanted.key)
  }

  #remove(waiter: Waiter): void {
    const { key } = waiter.wanted
    const line = this.#lines.get(key)
    if (line === undefined) return
    const at = line.waiters.indexOf(waiter)
    if (at >= 0) line.waiters.splice(at, 1)
    if (line.waiters.length === 0) this.#lines.delete(key)
    if (this.#lines.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  #lookAll(): void {
    for (const key of [...this.#lines.keys()]) this.#serve(key)
  }
}

/** What the store says to somebody; what it throws is as what its promise rejects with. */
function ask({ wanted }: Waiter): Verdict | Promise<Verdict> {
  try {
    return wanted.take()
  } catch (error) {
    return Promise.reject(error)
  }
}
