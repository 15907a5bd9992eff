import type { AsyncCountersOptions } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import { ruleOf, shownRules } from '../core/policy.js'
import type { Owner } from '../core/store.js'
import { digestOf } from './keys.js'

/** Characters of a name that keys show. */
const longestName = 60

/** What a name stands for in a store. */
interface Claim {
  readonly owner: Owner
  readonly rule: string
}

/**
 * The names that a store's limiters count under. In Redis a name and a rule are all that tells counters apart, also
 * from those of other processes: so two limiters that do not mean to count together must not have both in common.
 */
export class Names {
  readonly #claims = new Map<string, Claim>()

  /**
   * The name that a limiter counts under: readable, and with a digest of all that makes it different from others.
   * @throws HeadgateError `HEADGATE_POLICY_CLASH`
   */
  claim({ policies, named, owner }: AsyncCountersOptions): string {
    const names = policies.map(({ name }) => name)
    const rule = JSON.stringify(policies.map(ruleOf))
    const place = named ? null : (owner.place ?? '')
    // A name stands for one rule; limiters without one are told apart by theirs.
    const id = JSON.stringify(named ? [names] : [names, place, rule])
    const claim = this.#claims.get(id)
    if (claim !== undefined && named && claim.rule !== rule)
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `This store already counts ${JSON.stringify(names)} under another rule: give one of the two limiters another \`name\`.`
      )
    if (claim !== undefined && !named && claim.owner !== owner)
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `Two limiters of this store have the same rule and no \`name\` (${shownRules(policies)}), so in Redis they would count together: give each a \`name\` of its own.`
      )
    this.#claims.set(id, { owner, rule })
    const shown = (place ? `${place}:` : '') + names.join('+')
    return `${shown.slice(0, longestName).replace(/[^!-z|~]/g, '_')}:${digestOf(JSON.stringify([names, place, rule]))}`
  }
}
