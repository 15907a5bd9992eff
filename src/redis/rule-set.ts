import type { Policy } from '../core/policy.js'
import { type Script, scriptFor } from './script.js'

/** Tiers of more numbers than these have a key of their own. */
const mostTogether = 16

/** Where the numbers of a limiter's tiers stand. It is fixed when the limiter is made, whatever limits come later. */
export interface Layout {
  readonly slots: readonly number[]
  /** True for each tier that has a key of its own: of many numbers, or of as many as its limit says. */
  readonly isApart: readonly boolean[]
  /** What follows the hash tag in each key of a decision. */
  readonly suffixes: readonly string[]
}

/** Lays out the tiers of a limiter under its name in the store. */
export function layoutOf(name: string, policies: readonly Policy[]): Layout {
  const isApart = policies.map(
    (policy) =>
      policy.slots > mostTogether ||
      policy.strategy.slots({ ...policy, limit: policy.limit + 1 }) !== policy.slots
  )
  const own = isApart.flatMap((apart, i) => (apart ? [`:${name}:${i}`] : []))
  return { slots: policies.map(({ slots }) => slots), isApart, suffixes: [`:${name}`, ...own] }
}

/** What a limiter's deeds have in common. */
export interface RuleSetParts {
  readonly policies: readonly Policy[]
  readonly layout: Layout
  readonly blockMs: number
  readonly countDenied: boolean
  /** Those with the lowest limits seen, which tell how long keys are kept; null where no other limits were. */
  readonly slowest: readonly Policy[] | null
}

/** The arguments by which the script knows a limiter's rules. */
export class RuleSet {
  readonly policies: readonly Policy[]
  readonly script: Script
  readonly argv: readonly string[]

  constructor({ policies, layout, blockMs, countDenied, slowest }: RuleSetParts) {
    const { script, names } = scriptFor([...policies, ...(slowest ?? [])], layout.isApart.includes(true))
    const slowestNames = names.slice(policies.length)
    this.policies = policies
    this.script = script
    this.argv = [
      String(blockMs),
      flag(countDenied),
      flag(slowest !== null),
      String(policies.length),
      ...policies.flatMap((policy, i) => [
        names[i]!,
        number(policy.limit),
        String(policy.windowMs),
        number(policy.capacity),
        String(layout.slots[i]),
        flag(layout.isApart[i]!),
        flag(policy.strategy.aligned?.(policy) === true),
        policy.align ?? 'clock',
        String(policy.burst ?? 0),
        String(policy.delayAfter ?? 0),
        ...(slowest === null
          ? []
          : slowest[i] === policy
            ? ['', '', '']
            : [slowestNames[i]!, number(slowest[i]!.limit), number(slowest[i]!.capacity)])
      ])
    ]
  }
}

function flag(value: boolean): string {
  return value ? '1' : '0'
}

/** A number as Lua reads it. */
export function number(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'inf' : String(value)
}
