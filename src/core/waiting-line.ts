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
  /** Gives up the place; set while there is one. */
  giveUp: (() => void) | null = null

  leave(): void {
    this.hasLeft = true
    this.giveUp?.()
  }
}

/** How a wait ends: by a verdict, or null for whoever has left. */
type Resolve = (verdict: Verdict | null) => void

/** A place in line. */
class Place {
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
  readonly places: number
  readonly maxWaitMs: number
  /** True where permits may be released without `released` being called: then the first of each line looks now and then. */
  readonly looks: boolean
}

/** Those who wait for permits: for each key in the order of their arrival, a few of them, and for a while. */
export class WaitingLine {
  readonly #settings: LineSettings
  readonly #lines = new Map<string, Place[]>()
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
    return !this.#isClosed && this.length(key) < this.#settings.places
  }

  /**
   * Waits at the end of a line.
   * @param denial what is answered if nothing becomes free
   * @returns the verdict, or null once `leaver` has left
   */
  join(wanted: Wanted, denial: Verdict, leaver: Leaver | null): Promise<Verdict | null> {
    return new Promise((resolve) => {
      const place = new Place(wanted, denial, leaver, resolve)
      const line = this.#lines.get(wanted.key)
      if (line === undefined) this.#lines.set(wanted.key, [place])
      else line.push(place)
      place.timer = setTimeout(() => this.#end(place, place.denial), this.#settings.maxWaitMs)
      if (leaver !== null) leaver.giveUp = () => this.#end(place, null)
      if (this.#settings.looks) this.#looking ??= setInterval(() => this.#lookAll(), lookMs)
      // Permits may have come back while its first denial was on its way.
      if (this.#settings.looks && line === undefined) this.serve(wanted.key)
    })
  }

  /** Lets in those at the head of a line for whom there are permits now. */
  serve(key: string): void {
    const line = this.#lines.get(key)
    while (line !== undefined && line.length > 0) {
      const place = line[0]!
      if (place.isAsking) return
      place.isAsking = true
      let asked: Verdict | Promise<Verdict>
      try {
        asked = place.wanted.take()
      } catch (error) {
        asked = Promise.reject(error)
      }
      if (isPromiseLike<Verdict>(asked)) {
        asked.then(
          (verdict) => {
            if (this.#hear(place, verdict)) this.serve(key)
          },
          // What fails is for the user's own functions to tell: the wait ends as if nothing had become free.
          () => this.#end(place, place.denial)
        )
        return
      }
      if (!this.#hear(place, asked)) return
    }
  }

  /** Ends all waits, now and later. */
  close(): void {
    this.#isClosed = true
    for (const line of [...this.#lines.values()])
      for (const place of [...line]) this.#end(place, { ...place.denial, source: 'closed' })
  }

  /** Takes the answer to whoever is first; true if the next one is to be asked for. */
  #hear(place: Place, verdict: Verdict): boolean {
    place.isAsking = false
    if (place.isOver) {
      if (verdict.isAllowed) place.wanted.giveBack(verdict)
      return true
    }
    if (!verdict.isAllowed && place.wanted.isWorthwhile(verdict)) {
      place.denial = kept(verdict)
      return false
    }
    this.#remove(place)
    place.end(kept(verdict))
    return true
  }

  #end(place: Place, verdict: Verdict | null): void {
    if (place.isOver) return
    const wasFirst = this.#lines.get(place.wanted.key)?.[0] === place
    this.#remove(place)
    place.end(verdict)
    // Whoever is behind may want fewer.
    if (wasFirst && !place.isAsking) this.serve(place.wanted.key)
  }

  #remove(place: Place): void {
    const { key } = place.wanted
    const line = this.#lines.get(key)
    if (line === undefined) return
    const at = line.indexOf(place)
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
