import { badOption, nearest, shown } from '../core/options.js'
import { warn } from '../core/warn.js'

/** The priorities that there are unless `priorities` says others, highest first. */
export const defaultPriorities = ['critical', 'normal', 'background'] as const

/** The names of priorities, and their ranks: 0 is the highest. */
export class Priorities {
  readonly names: readonly string[]
  /** Of requests that say nothing. */
  readonly defaultRank: number
  readonly #ranks: ReadonlyMap<string, number>
  /** Names may come from clients, so it does not remember which it has told of. */
  #hasWarned = false

  /** @throws HeadgateError `HEADGATE_BAD_OPTION` for lists that are none, and a default that is not among them */
  constructor(priorities: unknown, defaultPriority: unknown) {
    this.names = namesOf(priorities)
    this.#ranks = new Map(this.names.map((name, rank) => [name, rank]))
    // The one in the middle: the lower of two, and never the highest unless it is the only one.
    this.defaultRank =
      defaultPriority === undefined ? this.names.length >> 1 : this.rankIn('defaultPriority', defaultPriority)
  }

  get lowest(): number {
    return this.names.length - 1
  }

  /** The rank of a name that an option has. */
  rankIn(option: string, name: unknown): number {
    const rank = typeof name === 'string' ? this.#ranks.get(name) : undefined
    if (rank !== undefined) return rank
    throw badOption(option, name, this.fixFor(name))
  }

  /** What to say of a name that there is not. */
  fixFor(name: unknown): string {
    const near = typeof name === 'string' ? nearest(name, this.names) : undefined
    if (near !== undefined) return `did you mean '${near}'?`
    return `give one of the \`priorities\`, ${this.names.map((one) => `'${one}'`).join(', ')}`
  }

  /**
   * The rank of what `priority` returned for a request. What it knows nothing of, undefined, is of the default priority; a
   * name that is not among the priorities counts as the lowest, with one warning.
   * @throws HeadgateError `HEADGATE_BAD_OPTION` for a promise
   */
  rankOf(name: unknown): number {
    if (name === undefined) return this.defaultRank
    return this.#ranks.get(name as string) ?? this.#lowestFor(name)
  }

  #lowestFor(name: unknown): number {
    if (typeof (name as { then?: unknown } | null)?.then === 'function') {
      Promise.resolve(name).catch(() => {})
      throw badOption('priority', name, 'its function must return a name at once, and not a promise')
    }
    if (this.#hasWarned) return this.lowest
    this.#hasWarned = true
    warn(
      'HEADGATE_UNKNOWN_PRIORITY',
      `\`priority\` returned ${shown(name)}, which counts as the lowest, '${this.names[this.lowest]}': ${this.fixFor(name)}.`
    )
    return this.lowest
  }
}

function namesOf(priorities: unknown): readonly string[] {
  if (priorities === undefined) return defaultPriorities
  const isList = Array.isArray(priorities) && priorities.length > 0
  if (!isList || !priorities.every((name) => typeof name === 'string' && name !== ''))
    throw badOption(
      'priorities',
      priorities,
      "give a list of names, highest first, such as ['critical', 'normal', 'background']"
    )
  const names: readonly string[] = [...priorities]
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined)
    throw badOption('priorities', priorities, `'${twice}' is in it twice: give each once`)
  return names
}
