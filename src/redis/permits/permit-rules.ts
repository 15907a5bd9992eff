import type { Policy } from '../../core/policy.js'
import type { LimiterTerms, Operating, Runner } from '../../remote/backend.js'
import type { PermitTier } from '../../remote/permits/permit-tier.js'
import { permitScript } from '../scripts/decision-script.js'
import { checkLimits, type Layout, layoutOf } from '../scripts/layout.js'
import { type RedisRules, ruleArguments } from '../scripts/rules.js'
import type { Script, TimeSource } from '../scripts/script.js'
import { StrategyNames } from '../scripts/strategy-names.js'

/** What follows the name of a limiter in the key of its permits. No digest of a name is as long as this. */
export const permitsSuffix = ':permits'

/** Rules of limiters that count what is in flight: those of the windows beside it, and what it is told apart by. */
export interface PermitRules extends RedisRules {
  readonly tier: PermitTier
}

/** Makes the rules of one limiter. All that have windows of the same strategies, or none, share a script. */
export class PermitOperating implements Operating {
  readonly #terms: LimiterTerms
  readonly #layout: Layout
  readonly #tier: PermitTier
  readonly #time: TimeSource
  readonly #runnerOf: (script: Script) => Runner

  constructor(terms: LimiterTerms, tier: PermitTier, time: TimeSource, runnerOf: (script: Script) => Runner) {
    this.#terms = terms
    this.#tier = tier
    this.#time = time
    this.#runnerOf = runnerOf
    this.#layout = layoutOf({ ...terms, policies: this.#windowsOf(terms.policies) })
  }

  rulesFor(policies: readonly Policy[], lowest: readonly Policy[] | null): PermitRules {
    const windows = this.#windowsOf(policies)
    const low = lowest && this.#windowsOf(lowest)
    checkLimits(windows)
    const parts = { terms: this.#terms, layout: this.#layout, policies: windows, lowest: low }
    const names = new StrategyNames([...windows, ...(low ?? [])])
    return {
      ...{ policies, tier: this.#tier, suffixes: this.#layout.suffixes, own: null },
      runner: this.#runnerOf(permitScript(this.#time, parts, names)),
      argv: ruleArguments(parts, names)
    }
  }

  /** None where there are none: what is blocked needs no tier. */
  #windowsOf(policies: readonly Policy[]): readonly Policy[] {
    return this.#tier.hasWindows ? this.#tier.windowsOf(policies) : []
  }
}
