import { HeadgateError } from '../core/errors.js'
import { ruleOf, shownRules } from '../core/policy.js'
import type { BucketsOptions, Owner } from '../core/store.js'

const { createHash } = process.getBuiltinModule('node:crypto')

/** What tells a limiter's counters from others in every thread. */
export interface Identity {
  readonly id: Int32Array
  readonly rule: Int32Array
  readonly shown: string
}

/**
 * The names that a thread's limiters count under. A name, and a rule where there is none, are all that tells counters
 * apart, also from those of other threads: so two limiters that do not mean to count together must not have both in
 * common.
 */
export class Names {
  readonly #claims = new Map<string, Owner | undefined>()

  /**
   * Opens what a limiter is to count in; the name is its own once that went well.
   * @throws HeadgateError `HEADGATE_POLICY_CLASH` where two limiters of this thread could not be told apart
   */
  claim<T>({ policies, named, owner }: BucketsOptions, open: (identity: Identity) => T): T {
    const names = policies.map(({ name }) => name)
    const rule = policies.map(ruleOf)
    const id = JSON.stringify(named ? [names] : [names, owner?.place ?? '', rule])
    if (!named && this.#claims.has(id) && this.#claims.get(id) !== owner)
      throw new HeadgateError(
        'HEADGATE_POLICY_CLASH',
        `Two limiters of this store have the same rule and no \`name\` (${shownRules(policies)}), so they would count together: give each a \`name\` of its own.`
      )
    const opened = open({
      id: digestOf(id),
      rule: digestOf(JSON.stringify(rule)),
      shown: JSON.stringify(names)
    })
    this.#claims.set(id, owner)
    return opened
  }
}

function digestOf(text: string): Int32Array {
  const bytes = createHash('sha256').update(text).digest()
  return Int32Array.from({ length: 4 }, (_, i) => bytes.readInt32LE(4 * i))
}
