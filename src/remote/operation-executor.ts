import { LowestLimits } from '../core/lowest-limits.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Operating, Rules } from './backend.js'
import type { Batches } from './batches.js'
import type { Executor, Location } from './executor.js'
import type { Operation } from './operation.js'

/** Rules of computed limits that are kept; more are made anew. */
const mostRules = 1000

/** Has a backend run the operations of one limiter, together with others of the same turn. */
export class OperationExecutor implements Executor {
  readonly #batches: Batches
  readonly #backend: Operating
  readonly #own: readonly Policy[]
  readonly #lowest: LowestLimits
  #ownRules: Rules
  readonly #variants = new Map<string, Rules>()

  constructor(batches: Batches, backend: Operating, policies: readonly Policy[]) {
    this.#batches = batches
    this.#backend = backend
    this.#own = policies
    this.#lowest = new LowestLimits(policies)
    this.#ownRules = backend.rulesFor(policies, null)
  }

  execute(
    key: string,
    location: Location,
    operation: Operation,
    policies: readonly Policy[]
  ): Promise<Verdict | undefined> {
    // What may be charged is told beforehand: the backend must know then for how long it is owed.
    if (mayCharge(operation) && this.#lowest.see(policies)) {
      this.#variants.clear()
      this.#ownRules = this.#backend.rulesFor(this.#own, this.#lowestBeside(this.#own))
    }
    const rules = policies === this.#own ? this.#ownRules : this.#variant(policies)
    return this.#batches.add(location, { key, operation, rules })
  }

  #variant(policies: readonly Policy[]): Rules {
    const limits = policies.map(({ limit }) => limit).join()
    let rules = this.#variants.get(limits)
    if (rules === undefined) {
      if (this.#variants.size >= mostRules) this.#variants.clear()
      rules = this.#backend.rulesFor(policies, this.#lowestBeside(policies))
      this.#variants.set(limits, rules)
    }
    return rules
  }

  #lowestBeside(policies: readonly Policy[]): readonly Policy[] | null {
    return this.#lowest.variesFrom(this.#own) || policies !== this.#own ? this.#lowest.policies : null
  }
}

function mayCharge({ kind }: Operation): boolean {
  return kind === 'take' || kind === 'charge' || kind === 'lease'
}
