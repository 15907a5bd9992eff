import { HeadgateError } from '../core/errors.js'
import { LowestLimits } from '../core/lowest-limits.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Operating, Rules } from './backend.js'
import type { Batches } from './batches.js'
import { checkedRules, openedRules } from './contract.js'
import type { Executor, Location } from './executor.js'
import type { Operation } from './operation.js'
import type { Deadline } from './time/deadline.js'

/** Rules of computed limits that are kept; more are made anew. */
const mostRules = 1000

/** One operation that is asked for. */
interface Asked {
  readonly key: string
  readonly operation: Operation
  readonly policies: readonly Policy[]
  readonly due: number | undefined
}

/** One limiter's part in what several decide together. */
export interface Joining {
  readonly executor: OperationExecutor
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
}

/** Has a backend run the operations of one limiter, together with others of the same turn. */
export class OperationExecutor implements Executor {
  readonly #batches: Batches
  readonly #deadline: Deadline
  readonly #backend: Operating
  readonly #own: readonly Policy[]
  readonly #lowest: LowestLimits
  /** Null if they are to be made anew. */
  #ownRules: Rules | null
  readonly #variants = new Map<string, Rules>()
  #lastJoint: { readonly own: readonly Rules[]; readonly joint: readonly Rules[] } | null = null

  constructor(batches: Batches, deadline: Deadline, backend: Operating, policies: readonly Policy[]) {
    this.#batches = batches
    this.#deadline = deadline
    this.#backend = backend
    this.#own = policies
    this.#lowest = new LowestLimits(policies)
    this.#ownRules = openedRules(backend.rulesFor(policies, null))
  }

  due(): number {
    return this.#deadline.due()
  }

  execute(
    key: string,
    location: Location,
    operation: Operation,
    policies: readonly Policy[],
    due?: number
  ): Promise<Verdict | undefined> {
    return this.#run(this.#batches, this.#deadline, location, { key, operation, policies, due })
  }

  /**
   * Takes units of keys of one shard, each of another limiter, in one step: all are admitted, or none is charged.
   * @returns null where the backend cannot
   */
  static together(parts: readonly Joining[], location: Location): Promise<readonly Verdict[]> | null {
    const [first] = parts as readonly [Joining]
    const { executor } = first
    if (executor.#backend.jointRules === undefined) return null
    const operations = parts.map(({ cost }) => ({ kind: 'join', cost, size: parts.length }) as const)
    const own = parts.map((part, i) => part.executor.#rulesFor(operations[i]!, part.policies))
    const rules = executor.#joint(own)
    if (rules[0]!.runner.most < parts.length) return null
    const requests = parts.map(({ key }, i) => ({ key, operation: operations[i]!, rules: rules[i]! }))
    return executor.#batches.addTogether(location, requests) as Promise<readonly Verdict[]>
  }

  /** Those of one request are mostly those of the one before. */
  #joint(own: readonly Rules[]): readonly Rules[] {
    const known = this.#lastJoint
    if (known !== null && own.every((rules, i) => rules === known.own[i])) return known.joint
    const joint = this.#backend.jointRules!(own)
    this.#lastJoint = { own, joint }
    return joint
  }

  /** The same operations by the same rules, in batches of their own. */
  through(batches: Batches, deadline: Deadline): Executor {
    return {
      due: () => deadline.due(),
      execute: (key, location, operation, policies, due) =>
        this.#run(batches, deadline, location, { key, operation, policies, due })
    }
  }

  #run(
    batches: Batches,
    deadline: Deadline,
    location: Location,
    { key, operation, policies, due }: Asked
  ): Promise<Verdict | undefined> {
    let rules: Rules
    try {
      rules = this.#rulesFor(operation, policies)
    } catch (error) {
      // A limit that the backend cannot hold is the fault of the limit function, as one that is none.
      if (error instanceof HeadgateError && error.code === 'HEADGATE_BAD_LIMIT') throw error
      return Promise.reject(deadline.count(location.node, error))
    }
    return batches.add(location, { key, operation, rules }, due)
  }

  #rulesFor(operation: Operation, policies: readonly Policy[]): Rules {
    // What may be charged is told beforehand: the backend must know then for how long it is owed.
    if (mayCharge(operation) && this.#lowest.see(policies)) {
      this.#variants.clear()
      this.#ownRules = null
    }
    if (policies !== this.#own) return this.#variant(policies)
    this.#ownRules ??= this.#made(policies)
    return this.#ownRules
  }

  #variant(policies: readonly Policy[]): Rules {
    const variant = policies.map(variantOf).join()
    let rules = this.#variants.get(variant)
    if (rules === undefined) {
      if (this.#variants.size >= mostRules) this.#variants.clear()
      rules = this.#made(policies)
      this.#variants.set(variant, rules)
    }
    return rules
  }

  #made(policies: readonly Policy[]): Rules {
    return checkedRules(this.#backend.rulesFor(policies, this.#lowestBeside(policies)))
  }

  #lowestBeside(policies: readonly Policy[]): readonly Policy[] | null {
    return this.#lowest.variesFrom(this.#own) || policies !== this.#own ? this.#lowest.policies : null
  }
}

/** What tells a variant of a policy from the others, which differ in these alone. */
function variantOf({ limit, capacity, name }: Policy): string {
  return `${limit}/${capacity}/${name}`
}

function mayCharge({ kind }: Operation): boolean {
  return (
    kind === 'take' ||
    kind === 'join' ||
    kind === 'acquire' ||
    kind === 'charge' ||
    kind === 'lease' ||
    kind === 'repay'
  )
}
