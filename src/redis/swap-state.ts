import type { AsyncCountersOptions } from '../core/async-store.js'
import { Tiers } from '../core/bucket.js'
import { Answer } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import { Deed, longestLife } from './lua-script.js'
import type { Reply } from './reply.js'

/** Numbers of a tier beside its strategy's: the last time seen, and how far steady time is ahead of it. */
const timeNumbers = 2

/** What a key's state is read with. */
export interface SwapStateParts {
  readonly policies: readonly Policy[]
  /** Those with the lowest limits seen, which tell how long it is kept; null where no other limits were. */
  readonly slowest: readonly Policy[] | null
  readonly options: AsyncCountersOptions
  readonly text: string
  readonly now: number
}

/**
 * What one key has, read from its text and written back: for each tier its time and its numbers, and of a blocked key
 * until when and since when it is. `decide` and what follows do here what the script does on the server.
 */
export class SwapState {
  isChanged = false
  readonly #now: number
  readonly #options: AsyncCountersOptions
  readonly #tiers: Tiers
  readonly #slowest: readonly Policy[] | null
  readonly #numbers: Float64Array
  /** [till, since] of a block, none if empty. */
  #block: number[]

  constructor({ policies, slowest, options, text, now }: SwapStateParts) {
    const parts = text === '' ? [] : text.split(';').map(numbersOf)
    const held = policies.map((_, i) => parts[i] ?? [])
    this.#now = now
    this.#options = options
    this.#block = parts[policies.length] ?? []
    this.#slowest = slowest
    this.#tiers = new Tiers(policies)
    this.#tiers.layOut(
      policies.map(({ slots }, i) => Math.max(slots, slowest?.[i]?.slots ?? 0, held[i]!.length - timeNumbers))
    )
    this.#numbers = new Float64Array(this.#tiers.slots)
    held.forEach((numbers, i) => {
      const { steady, offset } = this.#tiers.all[i]!
      steady.restore(numbers[0] ?? 0, numbers[1] ?? 0)
      this.#numbers.set(numbers.slice(timeNumbers), offset)
    })
    this.#tiers.setTime(now)
    // A long step back is noted at once: else time would stand still until the clock is where it was.
    this.isChanged = this.#tiers.all.some(({ steady }, i) => steady.saved[0] < (held[i]![0] ?? 0))
  }

  /** True where limits vary: others may know of a lower one, under which it owes for longer. */
  get varies(): boolean {
    return this.#slowest !== null
  }

  /** The state as text. */
  get text(): string {
    const tiers = this.#tiers.all.map(({ steady, offset, end }) => [
      ...steady.saved,
      ...this.#numbers.subarray(offset, end)
    ])
    return [...tiers, this.#block].map((numbers) => numbers.join(' ')).join(';')
  }

  /** How long it must be kept, ms. */
  get lifeMs(): number {
    const { policies } = this.#tiers
    const owedMs = Math.max(this.#resetMs(policies), this.#resetMs(this.#slowest ?? policies))
    this.#tiers.use(policies)
    return Math.min(longestLife, Math.max(this.#blockLeft(), owedMs))
  }

  perform(deed: Deed, cost: number, extra: string): Reply {
    if (deed <= Deed.lease) {
      const [verdict, charged] = this.#decide(deed, cost, Number(extra))
      const answers = this.#tiers.answers.flatMap((answer) => [...answer])
      return { at: this.#now, verdict, charged, answers, length: answers.length }
    }
    this.#change(deed, cost, extra)
    return { at: this.#now, verdict: Verdict.admitted, charged: 0, answers: [], length: 0 }
  }

  #resetMs(policies: readonly Policy[]): number {
    this.#tiers.use(policies)
    this.#tiers.check(this.#numbers, 0, 1)
    return Math.max(...this.#tiers.answers.map((answer) => answer[Answer.resetMs]!))
  }

  #decide(deed: Deed, cost: number, wanted: number): [Verdict, number] {
    const { countDenied, blockMs } = this.#options
    const allowed = this.#tiers.check(this.#numbers, 0, cost)
    const least = Math.min(...this.#tiers.answers.map((answer) => answer[Answer.remaining]!))
    const left = this.#blockLeft()
    if (left > 0) return [this.#lengthen(left), 0]
    const charges = allowed || deed === Deed.charge || countDenied
    const penalises = !allowed && blockMs > 0 && deed !== Deed.charge
    if (deed === Deed.peek) return [allowed ? Verdict.admitted : Verdict.denied, 0]
    if (!charges) return [penalises ? this.#penalise() : Verdict.denied, 0]
    const units = deed === Deed.lease ? Math.max(cost, Math.min(wanted, least)) : cost
    this.isChanged = true
    const delays = this.#charge(units)
    if (allowed) {
      this.#setDelays(delays)
      return [Verdict.admitted, units]
    }
    this.#tiers.check(this.#numbers, 0, cost)
    return [penalises ? this.#penalise() : Verdict.denied, Math.min(cost, least)]
  }

  #charge(units: number): number[] {
    this.#tiers.charge(this.#numbers, 0, units)
    return this.#tiers.answers.map((answer) => answer[Answer.delayMs]!)
  }

  #setDelays(delays: readonly number[]): void {
    delays.forEach((delay, i) => {
      this.#tiers.answers[i]![Answer.delayMs] = delay
    })
  }

  #change(deed: Deed, cost: number, extra: string): void {
    this.isChanged = true
    if (deed === Deed.refund) {
      const ago = extra === '' ? 0 : Math.max(0, this.#now - Number(extra))
      this.#tiers.refund(this.#numbers, 0, cost, ago)
    } else if (deed === Deed.block)
      this.#block = [this.#now + Number(extra === 'inf' ? Infinity : extra), this.#now]
    else if (deed === Deed.settle) this.#settle(extra.split(',').map(Number))
    else {
      this.#numbers.fill(0)
      this.#block = []
    }
  }

  #settle(units: readonly number[]): void {
    units.forEach((used, i) => {
      if (used > 0) this.#tiers.all[i]!.charge(this.#numbers, 0, used)
    })
  }

  #blockLeft(): number {
    const [till, since] = this.#block
    if (till === undefined || since === undefined) return 0
    // A clock that has stepped back neither ends nor lengthens a block.
    if (this.#now < since) this.isChanged = true
    const end = till - Math.max(0, since - this.#now)
    this.#block = end > this.#now ? [end, this.#now] : []
    return Math.max(0, end - this.#now)
  }

  #penalise(): Verdict {
    const wait = Math.max(...this.#tiers.answers.map((answer) => answer[Answer.retryAfterMs]!))
    if (wait === Number.POSITIVE_INFINITY) return Verdict.denied
    this.isChanged = true
    this.#block = [this.#now + Math.max(this.#options.blockMs, wait), this.#now]
    return this.#lengthen(Math.max(this.#options.blockMs, wait))
  }

  #lengthen(left: number): Verdict {
    for (const answer of this.#tiers.answers) {
      answer[Answer.remaining] = 0
      answer[Answer.retryAfterMs] = Math.max(answer[Answer.retryAfterMs]!, left)
      answer[Answer.resetMs] = Math.max(answer[Answer.resetMs]!, left)
    }
    return Verdict.blocked
  }
}

function numbersOf(text: string): number[] {
  return text === '' ? [] : text.split(' ').map(Number)
}
