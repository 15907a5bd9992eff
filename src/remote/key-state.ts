import { Bucket } from '../core/bucket.js'
import { chargedAgo } from '../core/charged-ago.js'
import { SteadyTime } from '../core/clock.js'
import type { Policy } from '../core/policy.js'
import { type Action, type ActionKind, charge, peek, type Verdict } from '../core/verdict.js'
import type { Change, LimiterTerms } from './backend.js'
import { marksIn, nothing, partsOf, timeNumbers } from './key-text.js'
import {
  type Changed,
  type Decided,
  isDecided,
  type Operation,
  type Renewal,
  type Repay
} from './operation.js'
import { markOf, mostKeyPermits, permitsAmong, permitsOut, renewMarks } from './permits/key-permits.js'
import { PermitTier } from './permits/permit-tier.js'

/** What came of one operation: a verdict if it is decided, or what the user's strategy threw. */
export type Outcome = { readonly verdict: Verdict | undefined } | { readonly error: unknown }

/** What the time of a lease has before it where the marks of payments are. */
const leaseMark = 'lease-'

/** What a key that was reset is to hold. */
const forgotten: Change = { text: '', lifeMs: 0, mayShorten: true }

/**
 * What one key of a limiter holds, read from its text and written back: for each tier its time and its numbers, and of a
 * blocked key until when it is blocked and since when, then the marks of payments. It takes up one key after the other; what happens to them, core
 * decides.
 */
export class KeyState {
  readonly #own: readonly Policy[]
  /** What counts in flight beside those, which are the windows then; null if nothing does. */
  readonly #tier: PermitTier | null
  readonly #actions: Readonly<Record<ActionKind, Action>>
  readonly #bucket: Bucket
  #numbers = new Float64Array(0)
  #now = 0
  #blockedMs = 0
  /** Payments that were charged, and a lease, and until when each must be remembered. */
  #marks = new Map<string, number>()
  #isChanged = false
  /** All policies that decide now. */
  #policies: readonly Policy[]

  constructor({ policies, countDenied, blockMs }: LimiterTerms) {
    this.#tier = PermitTier.of(policies)
    this.#policies = policies
    this.#own = this.#windowsOf(policies)
    this.#bucket = new Bucket(this.#own)
    const take: Action = { kind: 'take', countDenied, blockMs }
    this.#actions = { peek, charge, take, lease: { ...take, kind: 'lease' } }
  }

  /**
   * Takes up a key under these policies, as its text has it.
   * @throws Breach for a text that is not as it was written: as a new key, it would have its limit anew
   */
  read(text: string, now: number, policies: readonly Policy[]): void {
    const tiers = this.#own.length
    const { numbers: parts, marks } = text === '' ? nothing : partsOf(text, tiers)
    const held = this.#own.map((_, i) => parts[i] ?? [])
    this.#now = now
    this.#isChanged = false
    this.#policies = policies
    this.#open(held, this.#windowsOf(policies))
    this.#readTime(held)
    this.#readBlock(parts[tiers] ?? [])
    this.#marks = new Map([...marks].filter(([, until]) => until > now))
  }

  /** Does something to the key. If the user's strategy throws, the key is as it was. */
  perform(operation: Operation | Renewal): Outcome {
    const numbers = this.#numbers.slice()
    const [blockedMs, marks, isChanged] = [this.#blockedMs, new Map(this.#marks), this.#isChanged]
    try {
      return { verdict: this.#perform(operation) }
    } catch (error) {
      this.#numbers.set(numbers)
      this.#blockedMs = blockedMs
      this.#marks = marks
      this.#isChanged = isChanged
      return { error }
    }
  }

  /**
   * What a key is to hold once it is reset: permits that are out stay out.
   * @param text what it holds; null for the key that was taken up
   */
  forgotten(text: string | null, now: number): Change {
    if (this.#tier === null || text === '') return forgotten
    const permits = permitsAmong(text === null ? this.#marks : marksIn(text, this.#own.length))
    if (permits.size === 0) return forgotten
    this.read('', now, this.#policies)
    this.#marks = permits
    this.#isChanged = true
    return { ...this.change!, mayShorten: true }
  }

  #windowsOf(policies: readonly Policy[]): readonly Policy[] {
    return this.#tier?.windowsOf(policies) ?? policies
  }

  #perform(operation: Operation | Renewal): Verdict | undefined {
    if (operation.kind === 'renew') {
      this.#isChanged = true
      return void renewMarks(this.#marks, operation, this.#now)
    }
    if (!isDecided(operation)) return this.#change(operation)
    if (operation.kind === 'repay') {
      this.#repay(operation)
      return this.#perform({ kind: 'peek', cost: 1 })
    }
    if (this.#tier !== null) return this.#performOnPermits(this.#tier, operation)
    return this.#decide(operation, this.#actions[actionKindOf(operation)])
  }

  /** Takes permits only where the windows admit, and charges those only where there are permits. */
  #performOnPermits(tier: PermitTier, operation: Decided): Verdict {
    const { kind, cost } = operation
    const policies = this.#policies
    const count = permitsOut(this.#marks)
    // Even where a limit function sets no limit.
    const capacity = Math.min(tier.permitOf(policies).capacity, mostKeyPermits)
    const isFree = kind === 'acquire' && count + cost <= capacity
    const action = this.#actions[actionKindOf(operation)]
    const windows = this.#decide(operation, tier.actionOn(action, isFree))
    const isTaken = isFree && windows.isAllowed
    if (kind === 'acquire' && isTaken) {
      this.#isChanged = true
      this.#marks.set(markOf(operation.permit, cost), this.#now + operation.leaseMs)
    }
    return tier.verdict(windows, action, cost, policies, {
      ...{ count: isTaken ? count + cost : count, isTaken },
      blockedMs: this.#blockedMs
    })
  }

  #decide(operation: Decided, action: Action): Verdict {
    const { kind, cost } = operation
    const bucket = this.#bucket
    const wanted = kind === 'lease' ? operation.wanted : cost
    bucket.decide(action, cost, this.#blockedMs, null, wanted)
    if (bucket.hasCharged) this.#isChanged = true
    if (kind === 'lease' && bucket.verdict.charged > cost) this.#noteLease()
    if (bucket.penaltyMs > 0) {
      this.#block(bucket.penaltyMs)
      bucket.block(bucket.penaltyMs)
    }
    const { isAllowed, isBlocked, charged, at, source, policies, out } = bucket.verdict
    return { isAllowed, isBlocked, charged, at, source, policies, out: Array.from(out) }
  }

  /** What the key is to hold from now on; null if nothing has changed. */
  get change(): Change | null {
    if (!this.#isChanged) return null
    const marked = [...this.#marks.values()].map((until) => until - this.#now)
    const lifeMs = Math.max(this.#blockedMs, this.#bucket.owedMs(), ...marked)
    // Others may know of a lower limit, under which it owes for longer.
    const { lowest, policies } = this.#bucket
    const mayShorten = policies === this.#own && !lowest.variesFrom(this.#own)
    return { text: this.#text, lifeMs, mayShorten }
  }

  get #text(): string {
    const tiers = this.#bucket.tiers.map(({ steady, offset, end }) => [
      ...steady.saved,
      ...this.#numbers.subarray(offset, end)
    ])
    const block = this.#blockedMs > 0 ? [this.#now + this.#blockedMs, this.#now] : []
    const marks = this.#marks.size > 0 ? [[...this.#marks].flat()] : []
    return [...tiers, block, ...marks].map((numbers) => numbers.join(' ')).join(';')
  }

  /** Opens the numbers in the bucket; under other limits, now or before, a strategy may need more slots. */
  #open(held: readonly number[][], policies: readonly Policy[]): void {
    const bucket = this.#bucket
    const { lowest } = bucket
    bucket.layOut(
      policies.map(({ slots }, i) =>
        Math.max(slots, lowest.policies[i]!.slots, held[i]!.length - timeNumbers)
      )
    )
    bucket.use(policies)
    this.#numbers = new Float64Array(bucket.slots)
    for (const [i, numbers] of held.entries())
      this.#numbers.set(numbers.slice(timeNumbers), bucket.tiers[i]!.offset)
    bucket.open(this.#numbers, 0)
  }

  #readTime(held: readonly number[][]): void {
    const { tiers } = this.#bucket
    for (const [i, [latest = 0, ahead = 0]] of held.entries()) tiers[i]!.steady.restore(latest, ahead)
    this.#bucket.setTime(this.#now)
    // A long step back is noted at once: otherwise time would stand still until the clock is where it was.
    this.#isChanged = tiers.some(({ steady }, i) => steady.saved[0] < (held[i]![0] ?? 0))
  }

  /** A step back of the clock neither ends nor lengthens a block. */
  #readBlock([until, since]: readonly number[]): void {
    this.#blockedMs = 0
    if (until === undefined || since === undefined) return
    const time = new SteadyTime(0, false)
    time.restore(since, 0)
    this.#blockedMs = Math.max(0, until - time.read(this.#now))
    if (this.#now < since) this.#isChanged = true
  }

  #change(operation: Changed): undefined {
    if (operation.kind === 'return' && operation.chargedAt < this.#leasedAt) return
    this.#isChanged = true
    switch (operation.kind) {
      case 'return':
      case 'refund': {
        const { cost, chargedAt = this.#now } = operation
        this.#bucket.refund(cost, chargedAgo(this.#now, chargedAt))
        break
      }
      case 'release':
        this.#marks.delete(markOf(operation.permit, operation.cost))
        break
      case 'block':
        this.#block(operation.isLeast ? Math.max(operation.blockMs, this.#blockedMs) : operation.blockMs)
    }
  }

  /** When the first lease since a reset was made; `Infinity` if none was. */
  get #leasedAt(): number {
    for (const mark of this.#marks.keys())
      if (mark.startsWith(leaseMark)) return Number(mark.slice(leaseMark.length))
    return Number.POSITIVE_INFINITY
  }

  #noteLease(): void {
    const leasedAt = Math.min(this.#leasedAt, this.#now)
    this.#marks.set(leaseMark + leasedAt, this.#now + this.#bucket.owedMs())
  }

  #repay({ units, mark, markMs }: Repay): void {
    if (this.#marks.has(mark)) return
    this.#isChanged = true
    this.#bucket.chargeEach(units)
    this.#marks.set(mark, this.#now + markMs)
  }

  #block(blockMs: number): void {
    this.#isChanged = true
    this.#blockedMs = blockMs
  }
}

/** What a decided operation is to the windows. */
function actionKindOf({ kind }: Decided): ActionKind {
  return kind === 'acquire' || kind === 'join' ? 'take' : kind
}
