import type { AsyncCountersOptions } from '../core/async-store.js'
import type { Policy } from '../core/policy.js'
import type { Executor } from '../remote/counters.js'
import { Limits } from '../remote/limits.js'
import type { Batches } from './batches.js'
import type { Deed } from './lua-script.js'
import type { Place } from './places.js'
import type { Reply } from './reply.js'
import { type Layout, RuleSet } from './rule-set.js'

/** Rule sets of computed limits that are kept; more are made anew. */
const mostRuleSets = 1000

/** Carries out deeds by the script, together with others of the same turn. */
export class ScriptExecutor implements Executor {
  readonly #batches: Batches
  readonly #layout: Layout
  readonly #options: AsyncCountersOptions
  readonly #limits: Limits
  #rules: RuleSet
  readonly #variants = new Map<string, RuleSet>()

  constructor(batches: Batches, layout: Layout, options: AsyncCountersOptions) {
    this.#batches = batches
    this.#layout = layout
    this.#options = options
    this.#limits = new Limits(options.policies)
    this.#rules = this.#rulesFor(options.policies)
  }

  execute(
    { node, slot, keys }: Place,
    deed: Deed,
    cost: number,
    extra: string,
    policies: readonly Policy[]
  ): Promise<Reply> {
    if (this.#limits.see(deed, policies)) {
      this.#variants.clear()
      this.#rules = this.#rulesFor(this.#options.policies)
    }
    const rules = policies === this.#options.policies ? this.#rules : this.#variant(policies)
    return this.#batches.add({ node, slot, script: rules.script }, { deed, keys, rules, cost, extra })
  }

  #variant(policies: readonly Policy[]): RuleSet {
    const limits = policies.map(({ limit }) => limit).join()
    let rules = this.#variants.get(limits)
    if (rules === undefined) {
      if (this.#variants.size >= mostRuleSets) this.#variants.clear()
      rules = this.#rulesFor(policies)
      this.#variants.set(limits, rules)
    }
    return rules
  }

  #rulesFor(policies: readonly Policy[]): RuleSet {
    const { blockMs, countDenied } = this.#options
    return new RuleSet({
      policies,
      layout: this.#layout,
      blockMs,
      countDenied,
      slowest: this.#limits.slowestBeside(policies)
    })
  }
}
