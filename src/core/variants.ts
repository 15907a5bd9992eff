import { type Policy, withLimit } from './policy.js'

/** Variants of a policy that are kept; more distinct limits than these are made anew. */
export const maxVariants = 1000

/** Policies as they are under limits that are computed for each request. */
export class PolicyVariants {
  readonly #policies: readonly Policy[]
  readonly #known: readonly Map<unknown, Policy>[]

  constructor(policies: readonly Policy[]) {
    this.#policies = policies
    this.#known = policies.map(() => new Map())
  }

  /** The policies with these limits; the i-th stays as it is where `limits[i]` is undefined. */
  withLimits(limits: readonly unknown[]): readonly Policy[] {
    return this.#policies.map((policy, i) =>
      limits[i] === undefined || limits[i] === policy.limit
        ? policy
        : variant(policy, this.#known[i]!, limits[i])
    )
  }
}

function variant(policy: Policy, known: Map<unknown, Policy>, limit: unknown): Policy {
  let made = known.get(limit)
  if (!made) {
    made = withLimit(policy, limit)
    if (known.size >= maxVariants) known.clear()
    known.set(limit, made)
  }
  return made
}
