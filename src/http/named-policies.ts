import { HeadgateError } from '../core/errors.js'
import { badOption, nearest, type OptionTable } from '../core/options.js'
import { checkUnique } from '../core/policy-names.js'
import type { Owner } from '../core/store.js'

/** The option with which a plugin or a module names limits. `NamedPolicies` reads it. */
export const namedPolicies = { policies: {} } as const satisfies OptionTable

/** Who names policies, and who has them, in error messages. */
interface Wording {
  readonly by: string
  readonly owner: string
}

/**
 * Whose the counters of a policy are. Its name tells them apart from those of others; a policy of one limit that is called
 * so itself shares them with whatever else has this name.
 */
export function policyOwner(name: string, policy: object): Owner {
  const isCalledSo = (policy as { readonly name?: unknown }).name === name
  return isCalledSo ? { mayShare: true } : { mayShare: true, group: `policy:${name}` }
}

/** The policies of a plugin or a module, by name; all that name one share its counters. */
export class NamedPolicies<Options extends object, Placed> {
  readonly #options: Readonly<Record<string, Options>>
  readonly #placed: ReadonlyMap<string, Placed>
  readonly #wording: Wording
  readonly #outer: NamedPolicies<Options, Placed> | undefined

  /**
   * @param outer those that are known as well, unless one has its name here
   * @throws HeadgateError for what is no policy, and what `place` throws
   */
  constructor(
    policies: unknown,
    wording: Wording,
    place: (name: string, policy: Options) => Placed,
    outer?: NamedPolicies<Options, Placed>
  ) {
    if (typeof policies !== 'object' || policies === null || Array.isArray(policies))
      throw badOption('policies', policies, "give an object such as { login: { limit: 5, window: '15m' } }")
    this.#options = policies as Readonly<Record<string, Options>>
    this.#wording = wording
    this.#outer = outer
    const entries = Object.entries(this.#options)
    checkUnique(entries.map(([name]) => ({ name })))
    this.#placed = new Map(
      entries.map(([name, policy]) => {
        if (typeof policy !== 'object' || policy === null)
          throw badOption(`policies.${name}`, policy, "give a policy such as { limit: 5, window: '15m' }")
        // The name is its policy's, unless it has several.
        return [name, place(name, 'limits' in policy ? policy : { name, ...policy })]
      })
    )
  }

  /** @throws HeadgateError `HEADGATE_UNKNOWN_POLICY`, with the near name where there is one */
  of(name: string): Placed {
    const placed = this.find(name)
    if (placed !== undefined) return placed
    const known = [...this.names()]
    const near = nearest(name, known)
    const hint = near ? `did you mean '${near}'?` : `known are ${known.join(', ') || 'none'}.`
    const { by, owner } = this.#wording
    throw new HeadgateError(
      'HEADGATE_UNKNOWN_POLICY',
      `${by} names the policy '${name}', which ${owner} has not: ${hint}`
    )
  }

  has(name: string): boolean {
    return this.find(name) !== undefined
  }

  /** @internal */
  find(name: string): Placed | undefined {
    return this.#placed.get(name) ?? this.#outer?.find(name)
  }

  /** @internal */
  names(): ReadonlySet<string> {
    return new Set([...this.#placed.keys(), ...(this.#outer?.names() ?? [])])
  }

  /** How it was written. */
  optionsOf(name: string): Options {
    this.of(name)
    return this.#options[name]!
  }
}
