import { type Policy, withLimit } from './policy.js'

/** Variants of a policy that are kept; more distinct limits are made anew. */
export const maxVariants = 1000

/** Policies as they are under limits that are computed for each request. */
export class PolicyVariants {
  readonly #policies: readonly Policy[]
  readonly #known: readonly Map<unknown, Policy>[]
  /** The variants of a single policy, as lists: so that the same limit gives the same list. */
  readonly #lists = new Map<unknown, readonly Policy[]>()

  constructor(policies: readonly Policy[]) {
    this.#policies = policies
    this.#known = policies.map(() => new Map())
  }

  /** The policies with these limits; the i-th stays as it is where `limits[i]` is undefined. */
  withLimits(limits: readonly unknown[]): readonly Policy[] {
    if (this.#policies.length > 1) return this.#made(limits)
    const [limit] = limits
    if (limit === undefined || limit === this.#policies[0]!.limit) return this.#policies
    return kept(this.#lists, limit, () => this.#made(limits))
  }

  #made(limits: readonly unknown[]): readonly Policy[] {
    return this.#policies.map((policy, i) => {
      const limit = limits[i]
      if (limit === undefined || limit === policy.limit) return policy
      return kept(this.#known[i]!, limit, () => withLimit(policy, limit))
    })
  }
}

/** True for the same policies, in one list or in two: a limiter of several makes a list for each request. */
export function areSamePolicies(a: readonly Policy[], b: readonly Policy[]): boolean {
  return a === b || (a.length === b.length && a.every((policy, i) => policy === b[i]))
}

function kept<T>(known: Map<unknown, T>, limit: unknown, make: () => T): T {
  let made = known.get(limit)
  if (made === undefined) {
    made = make()
    if (known.size >= maxVariants) known.clear()
    known.set(limit, made)
  }
  return made
}
