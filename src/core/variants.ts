import { type Policy, withLimit } from './policy.js'

/** Variants of a policy that are kept; more distinct limits are made anew. */
export const maxVariants = 1000

/** Policies as they are under limits and bursts that are computed for each request. */
export class PolicyVariants {
  readonly #policies: readonly Policy[]
  readonly #known: readonly Map<unknown, Policy>[]
  /** The variants of a single policy, as lists: so that the same limit gives the same list. */
  readonly #lists = new Map<unknown, readonly Policy[]>()

  constructor(policies: readonly Policy[]) {
    this.#policies = policies
    this.#known = policies.map(() => new Map())
  }

  /** The policies with these limits and bursts; the i-th stays as it is where `limits[i]` and `bursts[i]` are undefined. */
  withLimits(limits: readonly unknown[], bursts: readonly unknown[] = none): readonly Policy[] {
    if (this.#policies.length > 1) return this.#made(limits, bursts)
    const [limit = this.#policies[0]!.limit] = limits
    const [burst = this.#policies[0]!.burst] = bursts
    if (isSame(this.#policies[0]!, limit, burst)) return this.#policies
    return kept(this.#lists, variantOf(limit, burst), () => this.#made(limits, bursts))
  }

  #made(limits: readonly unknown[], bursts: readonly unknown[]): readonly Policy[] {
    return this.#policies.map((policy, i) => {
      const { [i]: limit = policy.limit } = limits
      const { [i]: burst = policy.burst } = bursts
      if (isSame(policy, limit, burst)) return policy
      return kept(this.#known[i]!, variantOf(limit, burst), () => withLimit(policy, limit, burst))
    })
  }
}

const none: readonly unknown[] = []

function isSame(policy: Policy, limit: unknown, burst: unknown): boolean {
  return limit === policy.limit && burst === policy.burst
}

/** What tells one variant of a policy from another: mostly the limit alone. */
function variantOf(limit: unknown, burst: unknown): unknown {
  return burst === undefined ? limit : `${typeof limit} ${limit} ${typeof burst} ${burst}`
}

/** True for the same policies, in one list or in two: a limiter of several makes a list for each request. */
export function areSamePolicies(a: readonly Policy[], b: readonly Policy[]): boolean {
  return a === b || (a.length === b.length && a.every((policy, i) => policy === b[i]))
}

function kept<T>(known: Map<unknown, T>, variant: unknown, make: () => T): T {
  let made = known.get(variant)
  if (made === undefined) {
    made = make()
    if (known.size >= maxVariants) known.clear()
    known.set(variant, made)
  }
  return made
}
