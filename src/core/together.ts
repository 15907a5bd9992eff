import type { WorkResult } from './adaptive/adaptive-limit.js'
import { AsyncPolicyLimiter } from './async-limiter.js'
import type { Receipt } from './async-store.js'
import { takeFromStore, takeHere } from './joint-takes.js'
import type { BuiltLimiter } from './limiter-options.js'
import type { Holder } from './permit.js'
import type { Policy } from './policy.js'
import { kept, outSize, type Source, type Verdict } from './verdict.js'

/** One limiter of several that decide about a request together: who is charged there, and how much. */
export interface Part {
  readonly limiter: BuiltLimiter
  readonly policies: readonly Policy[]
  readonly key: string
  readonly cost: number
  /** Where each of its tiers stands among those of all parts. */
  readonly at: readonly number[]
}

/** Permits that one of the parts has given. */
interface Held {
  readonly part: Part
  readonly permit: number
  readonly since: number
}

/**
 * Several limiters, each with a key and a cost of its own, that decide about one request: all or nothing. It stands in the
 * place of a limiter, and is made for each request; keys, costs and policies are its own, whatever it is given.
 */
export class Together implements Holder {
  readonly parts: readonly Part[]
  /** null where none of the parts counts what is in flight. Nobody waits for it. */
  readonly admission: { readonly hasLine: false; admit(): Verdict | Promise<Verdict> } | null
  readonly #isLate: boolean
  #held: readonly Held[] = []

  constructor(parts: readonly Part[]) {
    this.parts = parts
    this.#isLate = parts[0]!.limiter instanceof AsyncPolicyLimiter
    this.admission = parts.some(({ limiter }) => limiter.admission !== null)
      ? { hasLine: false, admit: () => this.take() }
      : null
  }

  /** Who is charged by each tier. */
  get keys(): readonly string[] {
    const keys: string[] = []
    for (const { key, at } of this.parts) for (const place of at) keys[place] = key
    return keys
  }

  /** True where its times are of a clock outside the process. */
  get hasOwnClock(): boolean {
    return this.#isLate
  }

  /** True where a denied request is charged, too. */
  get countsDenied(): boolean {
    return this.parts[0]!.limiter.countsDenied
  }

  /** Charges each part its cost, or none of them anything. */
  take(): Verdict | Promise<Verdict> {
    if (this.#isLate) return takeFromStore(this.parts).then((verdicts) => this.#took(verdicts))
    return this.#took(takeHere(this.parts))
  }

  /** Looks at whether each part would admit its cost. */
  look(): Verdict | Promise<Verdict> {
    return this.#each(({ limiter, key, cost, policies }) => limiter.look(key, policies, Math.max(1, cost)))
  }

  /** Charges every part units that have been spent already, up to what is left. */
  charge(_key: string, cost: number): Verdict | Promise<Verdict> {
    return this.#each(({ limiter, key, policies }) => limiter.charge(key, cost, policies))
  }

  /** Gives back what every part charged; by hand, so many units of each. */
  giveBack(_key: string, cost: number, _policies: readonly Policy[], receipt: Receipt): void | Promise<void> {
    const given = this.parts.map(({ limiter, key, policies }, i) => {
      const own = receipt.receipts?.[i]
      return limiter.giveBack(key, own?.charged ?? cost, policies, own ?? receipt)
    })
    return this.#isLate ? Promise.all(given).then(() => {}) : undefined
  }

  instantOf(): number {
    return 0
  }

  isPermitLost(): boolean {
    return this.#held.some(
      ({ part, permit }) =>
        part.limiter instanceof AsyncPolicyLimiter && part.limiter.isPermitLost(permit) === true
    )
  }

  giveBackPermit(_key: string, _permit: number, _cost: number, _since: number, result: WorkResult): void {
    for (const { part, permit, since } of this.#held)
      part.limiter.giveBackPermit(part.key, permit, part.cost, since, result)
  }

  #took(verdicts: readonly Verdict[]): Verdict {
    const joined = this.#joined(verdicts)
    if (!joined.isAllowed) return joined
    const receipts = verdicts.map(({ at, source }, i) => ({ charged: this.parts[i]!.cost, at, source }))
    const verdict = { ...joined, receipts }
    this.#held = verdicts.flatMap(({ permit = 0 }, i) => {
      const part = this.parts[i]!
      return permit === 0 ? [] : [{ part, permit, since: part.limiter.instantOf(verdicts[i]!) }]
    })
    return this.#held.length === 0 ? verdict : { ...verdict, permit: 1 }
  }

  #each(ask: (part: Part) => Verdict | Promise<Verdict>): Verdict | Promise<Verdict> {
    if (this.#isLate) return Promise.all(this.parts.map(ask)).then((verdicts) => this.#joined(verdicts))
    return this.#joined(this.parts.map((part) => kept(ask(part) as Verdict)))
  }

  /** The one verdict of all parts, with their tiers in the order of configuration. */
  #joined(verdicts: readonly Verdict[]): Verdict {
    const policies: Policy[] = []
    const out: number[] = []
    for (const [i, verdict] of verdicts.entries())
      for (const [tier, place] of this.parts[i]!.at.entries()) {
        policies[place] = verdict.policies[tier]!
        for (let field = 0; field < outSize; field++)
          out[place * outSize + field] = verdict.out[tier * outSize + field]!
      }
    return {
      isAllowed: verdicts.every(({ isAllowed }) => isAllowed),
      isBlocked: verdicts.some(({ isBlocked }) => isBlocked),
      charged: Math.max(...verdicts.map(({ charged }) => charged)),
      at: verdicts[0]!.at,
      source: weakest(verdicts),
      policies,
      out,
      receipts: verdicts.map(({ charged, at, source }) => ({ charged, at, source }))
    }
  }
}

/** From what is to be believed least to what is to be believed most. */
const sources: readonly Source[] = ['deny', 'closed', 'allow', 'local', 'cache', 'lease', 'store']

/** Where the whole comes from: the source of its parts that is to be believed least. */
function weakest(verdicts: readonly Verdict[]): Source {
  return sources[Math.min(...verdicts.map(({ source }) => sources.indexOf(source)))]!
}
