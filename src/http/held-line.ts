/** What a line asks of time: ms of a clock that goes by its timers, and one timer at a time for each key. */
export interface LineTime {
  now(): number
  start(run: () => void, ms: number): unknown
  stop(timer: unknown): void
}

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1

/** Requests of one key, in the order of their arrival. */
interface Line {
  readonly key: string
  head: Turn | null
  tail: Turn | null
  /** That of the head; null while those that are due go on. */
  timer: unknown
  /** The latest time that a head was due at: timers and the clock may differ by a little. */
  passedMs: number
  isMoving: boolean
}

/** The place of a request in the line of its key. */
export class Turn {
  readonly dueMs: number
  readonly goOn: () => void
  /** null once it has gone on or left. */
  line: Line | null = null
  before: Turn | null = null
  after: Turn | null = null

  constructor(dueMs: number, goOn: () => void) {
    this.dueMs = dueMs
    this.goOn = goOn
  }
}

/**
 * Requests that are held. Those of a key go on in the order of their arrival, each as soon as it is due and nobody is before
 * it. The head of each key has a timer, the others have none.
 */
export class HeldLines {
  readonly #time: LineTime
  readonly #lines = new Map<string, Line>()
  #held = 0

  constructor(time: LineTime) {
    this.#time = time
  }

  /** How many are held, of all keys. */
  get held(): number {
    return this.#held
  }

  /** True where somebody of a key is held. */
  hasAny(key: string): boolean {
    return this.#held > 0 && this.#lines.get(key)?.head != null
  }

  /** How long one that joined now would be held, as far as those before it stay. */
  waitMs(key: string, forMs: number): number {
    const now = this.#time.now()
    let waitMs = forMs
    for (let turn = this.#lines.get(key)?.head ?? null; turn !== null; turn = turn.after)
      waitMs = Math.max(waitMs, turn.dueMs - now)
    return waitMs
  }

  /** Holds somebody for so many ms, and until those before him have gone on. */
  join(key: string, forMs: number, goOn: () => void): Turn {
    const line = this.#lines.get(key) ?? this.#newLine(key)
    const turn = new Turn(this.#time.now() + forMs, goOn)
    turn.line = line
    turn.before = line.tail
    if (line.tail === null) line.head = turn
    else line.tail.after = turn
    line.tail = turn
    this.#held++
    if (line.head === turn) this.#wait(line)
    return turn
  }

  /** Gives up a place: those behind it wait for themselves, and for those before it, no longer for it. */
  leave(turn: Turn): void {
    const { line } = turn
    if (line === null) return
    const wasHead = line.head === turn
    this.#remove(line, turn)
    if (wasHead) this.#wait(line)
  }

  /** Makes all due that are held. */
  release(): void {
    for (const line of this.#lines.values()) {
      for (let turn = line.tail; turn !== null; turn = turn.before)
        line.passedMs = Math.max(line.passedMs, turn.dueMs)
      this.#wait(line)
    }
  }

  #newLine(key: string): Line {
    const nothing = { head: null, tail: null, timer: null, isMoving: false }
    const line = { key, ...nothing, passedMs: Number.NEGATIVE_INFINITY }
    this.#lines.set(key, line)
    return line
  }

  #remove(line: Line, turn: Turn): void {
    const { before, after } = turn
    if (before === null) line.head = after
    else before.after = after
    if (after === null) line.tail = before
    else after.before = before
    turn.line = null
    this.#held--
  }

  /** Waits for the head of a line; without one the line is over. */
  #wait(line: Line): void {
    if (line.isMoving) return
    if (line.timer !== null) this.#time.stop(line.timer)
    line.timer = null
    const { head } = line
    if (head === null) {
      this.#lines.delete(line.key)
      return
    }
    const leftMs = head.dueMs - this.#nowOf(line)
    line.timer = this.#time.start(
      () => {
        line.timer = null
        line.passedMs = Math.max(line.passedMs, head.dueMs)
        this.#move(line)
      },
      Math.min(longestMs, Math.max(0, leftMs))
    )
  }

  /** Has those go on that are due. What one of them throws does not keep those behind it. */
  #move(line: Line): void {
    line.isMoving = true
    try {
      for (let { head } = line; head !== null && head.dueMs <= this.#nowOf(line); head = line.head) {
        this.#remove(line, head)
        head.goOn()
      }
    } finally {
      line.isMoving = false
      this.#wait(line)
    }
  }

  #nowOf({ passedMs }: Line): number {
    return Math.max(this.#time.now(), passedMs)
  }
}
