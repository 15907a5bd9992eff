import type { Policy } from '../core/policy.js'
import type { LimiterTerms, Rules, Runner } from '../remote/backend.js'
import { decisionScript } from './decision-script.js'
import type { Script } from './script.js'

/** Tiers of more numbers than these have a key of their own. */
const mostTogether = 16

/** Where the numbers of a limiter's tiers are. It is fixed when the limiter is opened, whatever limits come later. */
export interface Layout {
  readonly slots: readonly number[]
  /** True for each tier that has a key of its own: of many numbers, or of as many as its limit says. */
  readonly isApart: readonly boolean[]
  /** What follows the hash tag in each key of a decision. */
  readonly suffixes: readonly string[]
}

/** Lays out the tiers of a limiter under its name in the store. */
export function layoutOf({ name, policies }: LimiterTerms): Layout {
  const isApart = policies.map(
    (policy) =>
      policy.slots > mostTogether ||
      policy.strategy.slots({ ...policy, limit: policy.limit + 1 }) !== policy.slots
  )
  const own = isApart.flatMap((apart, i) => (apart ? [`:${name}:${i}`] : []))
  return { slots: policies.map(({ slots }) => slots), isApart, suffixes: [`:${name}`, ...own] }
}

/** What the rules of one limiter have in common. */
export interface RuleParts {
  readonly terms: LimiterTerms
  readonly layout: Layout
  /** What runs a script. */
  readonly runnerOf: (script: Script) => Runner
}

/** The arguments by which the script knows a limiter's rules: see lua/rules.lua. */
export class RedisRules implements Rules {
  readonly policies: readonly Policy[]
  readonly runner: Runner
  readonly suffixes: readonly string[]
  readonly argv: readonly string[]

  constructor(
    { terms, layout, runnerOf }: RuleParts,
    policies: readonly Policy[],
    lowest: readonly Policy[] | null
  ) {
    const { script, names } = decisionScript([...policies, ...(lowest ?? [])], layout.isApart.includes(true))
    this.policies = policies
    this.runner = runnerOf(script)
    this.suffixes = layout.suffixes
    this.argv = [
      String(terms.blockMs),
      flag(terms.countDenied),
      flag(lowest !== null),
      String(policies.length),
      ...policies.flatMap((policy, i) => [
        names[i]!,
        ...ruleOf(policy, layout, i),
        ...(lowest === null ? [] : lowestOf(lowest[i]!, policy, names[policies.length + i]!))
      ])
    ]
  }
}

function ruleOf(policy: Policy, layout: Layout, tier: number): string[] {
  return [
    number(policy.limit),
    String(policy.windowMs),
    number(policy.capacity),
    String(layout.slots[tier]),
    flag(layout.isApart[tier]!),
    flag(policy.strategy.aligned?.(policy) === true),
    policy.align ?? 'clock',
    String(policy.burst ?? 0),
    String(policy.delayAfter ?? 0)
  ]
}

function lowestOf(lowest: Policy, policy: Policy, name: string): string[] {
  return lowest === policy ? ['', '', ''] : [name, number(lowest.limit), number(lowest.capacity)]
}

function flag(value: boolean): string {
  return value ? '1' : '0'
}

/** A number as Lua reads it. */
export function number(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'inf' : String(value)
}
