import { isPromiseLike } from './promise.js'
import type { Verdict } from './verdict.js'

/** How often the first of a line looks whether others have released permits unseen, ms. */
const lookMs = 25

/** What somebody waits for: permits of a key. */
export interface Wanted {
  readonly key: string
  /** Takes the permits if there are enough. */
  readonly take: () => Verdict | Promise<Verdict>
  /** Gives back what was taken for somebody who has left. */
  readonly giveBack: (verdict: Verdict) => void
  /** True where the verdict leaves it to permits alone, so that waiting helps. */
  readonly isWorthwhile: (verdict: Verdict) => boolean
}

/** Somebody who may leave, before, while or after a line is joined. */
export class Leaver {
  hasLeft = false
  /** Has it leave the line; set while it is in one. */
  giveUp: (() => void) | null = null

  leave(): void {
    this.hasLeft = true
    this.giveUp?.()
  }
}

/** How a wait ends: by a verdict, or null for whoever has left. */
type Resolve = (verdict: Verdict | null) => void

/** Somebody in a line. */
class Waiter {
  readonly wanted: Wanted
  /** What is answered if the wait ends now. */
  denial: Verdict
  isAsking = false
  isOver = false
  timer: ReturnType<typeof setTimeout> | undefined
  readonly #leaver: Leaver | null
  readonly #resolve: Resolve

  constructor(wanted: Wanted, denial: Verdict, leaver: Leaver | null, resolve: Resolve) {
    this.wanted = wanted
    this.denial = denial
    this.#leaver = leaver
    this.#resolve = resolve
  }

  end(verdict: Verdict | null): void {
    this.isOver = true
    clearTimeout(this.timer)
    if (this.#leaver !== null) this.#leaver.giveUp = null
    this.#resolve(verdict)
  }
}

/** How a line works. */
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
  readonly #lines = new Map<string, Waiter[]>()
  #isClosed = false
  #looking: ReturnType<typeof setInterval> | undefined

  constructor(settings: LineSettings) {
    this.#settings = settings
  }

  /** How many wait for a key. */
  length(key: string): number {
    return this.#lines.get(key)?.length ?? 0
  }

  /** What the last of a line would be answered now; undefined where nobody waits. */
  denialOf(key: string): Verdict | undefined {
    return this.#lines.get(key)?.at(-1)?.denial
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
      const line = this.#lines.get(wanted.key)
      if (line === undefined) this.#lines.set(wanted.key, [waiter])
      else line.push(waiter)
      waiter.timer = setTimeout(() => this.#end(waiter, waiter.denial), this.#settings.maxWaitMs)
      if (leaver !== null) leaver.giveUp = () => this.#end(waiter, null)
      if (this.#settings.looks) this.#looking ??= setInterval(() => this.#lookAll(), lookMs)
      // Permits may have come back while its first denial was on its way.
      if (this.#settings.looks && line === undefined) this.serve(wanted.key)
    })
  }

  /** Lets in those at the head of a line for whom there are permits now. */
  serve(key: string): void {
    const line = this.#lines.get(key)
    while (line !== undefined && line.length > 0) {
      const waiter = line[0]!
      if (waiter.isAsking) return
      waiter.isAsking = true
      let asked: Verdict | Promise<Verdict>
      try {
        asked = waiter.wanted.take()
      } catch (error) {
        asked = Promise.reject(error)
      }
      if (isPromiseLike<Verdict>(asked)) {
        asked.then(
          (verdict) => {
            if (this.#hear(waiter, verdict)) this.serve(key)
          },
          // What fails is for the user's own functions to tell: the wait ends as if nothing had become free.
          () => this.#end(waiter, waiter.denial)
        )
        return
      }
      if (!this.#hear(waiter, asked)) return
    }
  }

  /** Ends all waits, now and later. */
  close(): void {
    this.#isClosed = true
    for (const line of [...this.#lines.values()])
      for (const waiter of [...line]) this.#end(waiter, { ...waiter.denial, source: 'closed' })
  }

  /** Takes the answer to whoever is first; true if the next one is to be asked for. */
  #hear(waiter: Waiter, verdict: Verdict): boolean {
    waiter.isAsking = false
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
    const wasFirst = this.#lines.get(waiter.wanted.key)?.[0] === waiter
    this.#remove(waiter)
    waiter.end(verdict)
    // Whoever is behind may want fewer.
    if (wasFirst && !waiter.isAsking) this.serve(waiter.wanted.key)
  }

  #remove(waiter: Waiter): void {
    const { key } = waiter.wanted
    const line = this.#lines.get(key)
    if (line === undefined) return
    const at = line.indexOf(waiter)
    if (at >= 0) line.splice(at, 1)
    if (line.length === 0) this.#lines.delete(key)
    if (this.#lines.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  #lookAll(): void {
    for (const key of [...this.#lines.keys()]) this.serve(key)
  }
}

/** A verdict that may be read later: stores in the process give the same object again. */
export function kept(verdict: Verdict): Verdict {
  return { ...verdict, out: Array.from(verdict.out) }
}
