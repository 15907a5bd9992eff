import type { Verdict } from './verdict.js'

/** How many of a line a store outside the process is asked for at once: as many as fit one call of Redis. */
export const widest = 32

/** What somebody waits for: permits of a key. */
export interface Wanted {
  readonly key: string
  readonly cost: number
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
export class Waiter {
  readonly wanted: Wanted
  /** What is answered if the wait ends now. */
  denial: Verdict
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

/** Those who wait for permits of one key, in the order of their arrival. */
export class Line {
  readonly waiters: Waiter[] = []
  /** True while a store outside the process is asked for some of them. */
  isAsking = false
  /** True if there was a reason to ask meanwhile. */
  isDue = false
  /** How many to ask for next, and how many releases there were since the last time. */
  width = 1
  returned = 0

  /**
   * Those at the head for whom to ask at once. Nobody is among them who wants fewer than one before him, and so could be
   * admitted where that one is not.
   */
  wave(): readonly Waiter[] {
    const most = Math.min(widest, Math.max(this.width, this.returned))
    const wave: Waiter[] = []
    let cost = 0
    for (const waiter of this.waiters) {
      if (wave.length === most || waiter.wanted.cost < cost) break
      cost = waiter.wanted.cost
      wave.push(waiter)
    }
    return wave
  }
}
