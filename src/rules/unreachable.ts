import { type Condition, covers } from './conditions.js'
import type { TableRule } from './rule-table.js'

/** A rule that never decides, and the one that decides in its place. */
export interface Unreachable {
  readonly rule: TableRule
  readonly by: TableRule
}

/** The rules before which another decides, whatever the request. */
export function unreachable(rules: readonly TableRule[]): readonly Unreachable[] {
  const found: Unreachable[] = []
  for (const [i, rule] of rules.entries()) {
    const by = rules.slice(0, i).find((earlier) => isInstead(earlier, rule) && coversAll(earlier, rule))
    if (by !== undefined) found.push({ rule, by })
  }
  return found
}

/** True where of both the earlier one alone decides: they part in a list of which the first does. */
function isInstead(earlier: TableRule, rule: TableRule): boolean {
  return rule.places.some(({ group, element }) => {
    const other = earlier.places.find((place) => place.group === group)
    return group.isFirst && other !== undefined && other.element !== element
  })
}

function coversAll(wide: TableRule, narrow: TableRule): boolean {
  return wide.conditions.every((condition: Condition) =>
    narrow.conditions.some((one) => covers(condition, one))
  )
}
