/** How many requests each priority may have in flight together with those below it. */
export interface RoomTerms {
  /** Requests in flight at once; `Infinity` for any number. */
  readonly concurrency: number
  /** What part of them is kept for each priority, 0 to 1, highest first. */
  readonly reserves: readonly number[]
}

/** Floating-point sums such as 1 − 0.9 must not cost a whole request. */
const slack = 1e-9

/**
 * The rooms of all priorities, highest first: what is reserved for those above is not for a priority and those below it.
 * @example roomsOf({ concurrency: 200, reserves: [0.2, 0, 0] }) // [200, 160, 160]
 */
export function roomsOf({ concurrency, reserves }: RoomTerms): readonly number[] {
  let left = 1
  return reserves.map((reserve) => {
    const room =
      concurrency === Number.POSITIVE_INFINITY ? concurrency : Math.floor(concurrency * left + slack)
    left -= reserve
    return room
  })
}

/**
 * Counts requests in flight by their rank (0 is the highest priority), and says for which there is room. A request is
 * admitted if neither its own priority and those below it, nor any above it together with those below, would have more in
 * flight than their room. So a reserve is always there for whom it is kept, and what one priority is admitted every higher
 * one would be admitted too.
 */
export class InFlight {
  readonly #rooms: readonly number[]
  /** By rank, how many requests of it and of those below it are in flight. */
  readonly #held: number[]

  constructor(rooms: readonly number[]) {
    this.#rooms = rooms
    this.#held = rooms.map(() => 0)
  }

  get total(): number {
    return this.#held[0]!
  }

  hasRoom(rank: number): boolean {
    for (let above = 0; above <= rank; above++) if (this.#held[above]! >= this.#rooms[above]!) return false
    return true
  }

  enter(rank: number): void {
    for (let above = 0; above <= rank; above++) this.#held[above]!++
  }

  leave(rank: number): void {
    for (let above = 0; above <= rank; above++) this.#held[above]!--
  }
}
