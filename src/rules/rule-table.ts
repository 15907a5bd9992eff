import type { RequestFacts } from '../http/request-facts.js'
import type { RequestRule, RuleTable } from '../http/request-rules.js'
import type { Condition } from './conditions.js'
import type { Position } from './problems.js'
import { RuleIndex } from './rule-index.js'

/** A list of rules, and of which of them one decides alone. */
export interface RuleGroup {
  readonly isFirst: boolean
}

/** Where a rule stands in a list: whatever stands in the same element of it goes with it. */
export interface Place {
  readonly group: RuleGroup
  readonly element: number
}

/** A rule that says a limit, with all that must hold for it, its own conditions and those of the rules around it. */
export interface TableRule extends RequestRule {
  /** Where it stands in its file. */
  readonly at: Position
  readonly conditions: readonly Condition[]
  /** From the outermost list to its own. */
  readonly places: readonly Place[]
}

const none: readonly RequestRule[] = []

/** Compiled rules. */
export class IndexedRules implements RuleTable {
  readonly needs: RuleTable['needs']
  readonly rules: readonly TableRule[]
  readonly #index: RuleIndex
  /** Each rule alone, so that no list is made for a request. */
  readonly #alone: readonly (readonly RequestRule[])[]
  readonly #isFirst: boolean
  /** True where none stands in the way of another. */
  readonly #isAll: boolean
  readonly #found: number[] = []

  constructor(rules: readonly TableRule[]) {
    this.rules = rules
    this.#index = new RuleIndex(rules)
    this.#alone = rules.map((rule) => [rule])
    this.#isFirst = rules.every(({ places }) => places.every(({ group }) => group.isFirst))
    this.#isAll = rules.every(({ places }) => places.every(({ group }) => !group.isFirst))
    const uses = (kind: Condition['kind']) =>
      rules.some(({ conditions }) => conditions.some((one) => one.kind === kind))
    this.needs = { user: uses('user'), address: uses('address'), route: uses('route') }
  }

  match(facts: RequestFacts): readonly RequestRule[] {
    if (this.#isFirst) {
      const first = this.#index.first(facts)
      return first < 0 ? none : this.#alone[first]!
    }
    const found = this.#found
    found.length = 0
    this.#index.all(facts, found)
    if (found.length === 0) return none
    if (found.length === 1) return this.#alone[found[0]!]!
    const inOrder = this.#inOrder()
    return this.#isAll ? inOrder : chosen(inOrder)
  }

  /** The rules that were found, each once. They are few: what sorts many would cost more. */
  #inOrder(): readonly TableRule[] {
    const found = this.#found
    for (let i = 1; i < found.length; i++) {
      const order = found[i]!
      let at = i
      for (; at > 0 && found[at - 1]! > order; at--) found[at] = found[at - 1]!
      found[at] = order
    }
    const rules: TableRule[] = []
    for (let i = 0; i < found.length; i++)
      if (i === 0 || found[i] !== found[i - 1]) rules.push(this.rules[found[i]!]!)
    return rules
  }
}

/** Of rules that hold, in order, those that are not behind another which decides alone. */
export function chosen(rules: readonly TableRule[]): readonly TableRule[] {
  const taken = new Map<RuleGroup, number>()
  const kept: TableRule[] = []
  for (const rule of rules) {
    const isFree = rule.places.every(
      ({ group, element }) => !group.isFirst || (taken.get(group) ?? element) === element
    )
    if (!isFree) continue
    kept.push(rule)
    for (const { group, element } of rule.places) if (group.isFirst) taken.set(group, element)
  }
  return kept
}
