import type { Clock } from '../../core/clock.js'
import { HeadgateError } from '../../core/errors.js'
import { badOption } from '../../core/options.js'
import type { Policy } from '../../core/policy.js'
import type { LimiterTerms, Operating, Runner } from '../../remote/backend.js'
import type { PermitTier } from '../../remote/permits/permit-tier.js'
import { turning } from '../scripts/calendar-starts.js'
import { permitScript } from '../scripts/decision-script.js'
import { checkLimits, type Layout, layoutOf } from '../scripts/layout.js'
import { type RedisRules, ruleArguments } from '../scripts/rules.js'
import type { Script, TimeSource } from '../scripts/script.js'
import { StrategyNames } from '../scripts/strategy-names.js'

/** What follows the name of a limiter in the key of its permits. No digest of a name is as long as this. */
export const permitsSuffix = ':permits'

/** The most permits of a key: to take or release so many at once holds Redis for some 20 ms. */
export const mostPermits = 10_000

const tooMany = `each permit is an entry of its own in Redis, and more than ${mostPermits} at once would hold it for long: count in larger units, so that a request costs fewer`

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
  readonly #now: Clock

  /** @param now about the time that the server has */
  constructor(
    terms: LimiterTerms,
    tier: PermitTier,
    time: TimeSource,
    runnerOf: (script: Script) => Runner,
    now: Clock
  ) {
    this.#terms = terms
    this.#tier = tier
    this.#time = time
    this.#runnerOf = runnerOf
    this.#now = now
    const { limit } = tier.permitOf(terms.policies)
    if (limit > mostPermits) throw badOption('concurrency', limit, tooMany)
    this.#layout = layoutOf({ ...terms, policies: this.#windowsOf(terms.policies) })
  }

  rulesFor(policies: readonly Policy[], lowest: readonly Policy[] | null): PermitRules {
    const windows = this.#windowsOf(policies)
    const low = lowest && this.#windowsOf(lowest)
    checkLimits(windows)
    const { name, limit } = this.#tier.permitOf(policies)
    if (limit > mostPermits && limit < Number.POSITIVE_INFINITY)
      throw new HeadgateError(
        'HEADGATE_BAD_LIMIT',
        `The concurrency function of policy '${name}' returned ${limit}: ${tooMany}.`
      )
    const names = new StrategyNames([...windows, ...(low ?? [])])
    return turning(windows, this.#now, (now) => {
      const parts = { terms: this.#terms, layout: this.#layout, policies: windows, lowest: low, now }
      return {
        ...{ policies, tier: this.#tier, suffixes: this.#layout.suffixes, own: null, parts: null },
        runner: this.#runnerOf(permitScript(this.#time, parts, names)),
        argv: ruleArguments(parts, names)
      }
    })
  }

  /** None where there are none: what is blocked needs no tier. */
  #windowsOf(policies: readonly Policy[]): readonly Policy[] {
    return this.#tier.hasWindows ? this.#tier.windowsOf(policies) : []
  }
}
