import { HeadgateError } from './errors.js'
import { type Policy, ruleOf } from './policy.js'
import { shownRules } from './policy-names.js'
import type { BucketsOptions, Owner } from './store.js'
import type { Strategy } from './strategy.js'

/** What distinguishes the buckets of one limiter from those of others in the same store. */
export interface Identity {
  /** Equal for limiters that count together: the names alone if all are the user's, otherwise the rules as well. */
  readonly id: string
  readonly rule: string
  /** The names of the policies. */
  readonly names: readonly string[]
  /** What error messages call its owner. */
  readonly label: string
  /** What distinguishes its owner in every process beside the names; null if these are all that counts. */
  readonly place: string | null
}

/** How the limiters of a kind of store are told apart. */
export interface NamesOptions {
  /** Where limiters count together, as an error message says it: `'in Redis '`. */
  readonly where?: string
  /** Whether two strategies are the same. If left out, those of one name are, as other processes see nothing else. */
  readonly areSame?: (a: Strategy, b: Strategy) => boolean
}

interface Claim {
  readonly owner: Owner | undefined
  readonly rule: string
  readonly policies: readonly Policy[]
  readonly label: string
}

/**
 * The names that the limiters of one store count under. A name, or a rule if there is no name, is all that tells their
 * buckets apart: so two limiters that are not meant to count together must not have both in common.
 */
export class Names {
  readonly #claims = new Map<string, Claim>()
  readonly #where: string
  readonly #areSame: (a: Strategy, b: Strategy) => boolean

  constructor({ where = '', areSame = (a, b) => a.name === b.name }: NamesOptions = {}) {
    this.#where = where
    this.#areSame = areSame
  }

  /**
   * Opens what a limiter is to count in. It keeps the name only if that succeeds.
   * @throws HeadgateError `HEADGATE_POLICY_CLASH` if two limiters could not be told apart, or one name has two rules
   */
  claim<T>(options: BucketsOptions, open: (identity: Identity) => T): T {
    const { policies, named, owner } = options
    const { id, rule, names, place, label } = identityOf(options)
    const held = this.#claims.get(id)
    if (held !== undefined && named && !this.#isSameRule(held, rule, policies))
      throw ruleClash(names, held.label, label)
    if (held !== undefined && !named && held.owner !== owner)
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `Two limiters of this store have the same rule and no \`name\`, ${held.label} and ${label}, so ${this.#where}they would count together: give each a \`name\` of its own.`
      )
    const opened = open({ id, rule, names, place, label })
    this.#claims.set(id, { owner, rule, policies, label })
    return opened
  }

  /** Forgets a name that nobody counts under any more. */
  release(id: string): void {
    this.#claims.delete(id)
  }

  #isSameRule(held: Claim, rule: string, policies: readonly Policy[]): boolean {
    return (
      held.rule === rule &&
      held.policies.every(({ strategy }, i) => this.#areSame(strategy, policies[i]!.strategy))
    )
  }
}

/** What distinguishes the buckets of a limiter. */
export function identityOf({ policies, named, owner }: BucketsOptions): Identity {
  const names = policies.map(({ name }) => name)
  const rule = JSON.stringify(policies.map(ruleOf))
  const place = named ? (owner?.group ?? null) : (owner?.place ?? owner?.group ?? '')
  const label = `${owner?.label ?? 'a limiter'} (${shownRules(policies)})`
  const id = JSON.stringify(named ? [names, place] : [names, place, rule])
  return { id, rule, names, place, label }
}

/** The error for a name that already has another rule in its store, by `held`. */
export function ruleClash(names: readonly string[], held: string, label: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_POLICY_CLASH',
    `This store already counts ${JSON.stringify(names)} under another rule, for ${held}: give that or ${label} another \`name\`.`
  )
}
