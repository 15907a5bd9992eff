import type { Policy } from '../../core/policy.js'
import type { LimiterTerms, Rules, Runner } from '../../remote/backend.js'
import { startsAround } from './calendar-starts.js'
import type { Layout } from './layout.js'
import { argument, type LuaFields, luaTable } from './lua-words.js'
import type { Script } from './script.js'
import type { StrategyNames } from './strategy-names.js'

/** What decides about one key of a limiter. */
export interface RuleParts {
  readonly terms: LimiterTerms
  readonly layout: Layout
  readonly policies: readonly Policy[]
  /** The lowest limits that keys were charged under; null if limits do not vary. */
  readonly lowest: readonly Policy[] | null
  /** About the time that the server has: of a calendar it is given the windows around it. */
  readonly now: number
}

/** The rules of one limiter, and how scripts go by them. */
export interface RedisRules extends Rules {
  readonly runner: Runner
  readonly suffixes: readonly string[]
  /** The script that has them written into it, and goes by no others; null if there would be too many. */
  readonly own: Script | null
  /** The same as arguments: see lua/given-rules.lua. */
  readonly argv: readonly string[]
  /** What they were made of, for rules that are decided by together with others; null where they cannot be. */
  readonly parts: RuleParts | null
}

/** What a strategy in Lua sees of its rule. */
export function luaRuleOf(policy: Policy, now: number): LuaFields {
  const { limit, windowMs, capacity } = policy
  return { limit, windowMs, capacity, ...optionsOf(policy, now) }
}

function optionsOf(policy: Policy, now: number): LuaFields {
  const { burst, delayAfter } = policy
  return { align: `'${alignOf(policy, now)}'`, burst: burst ?? 0, delayAfter: delayAfter ?? 0 }
}

/** Where windows begin; of those of a calendar the starts. */
function alignOf({ align, calendar }: Policy, now: number): string {
  return calendar === null ? (align ?? 'clock') : startsAround(calendar, now)
}

/** The rules as Lua, in the form of lua/given-rules.lua. */
export function luaRules({ terms, layout, policies, lowest, now }: RuleParts, names: StrategyNames): string {
  const { blockMs, countDenied } = terms
  const strategy = (policy: Policy) => `strategies['${names.of(policy)}']`
  const tiers = policies.map((policy, i) => {
    const low = lowest === null || lowest[i] === policy ? undefined : lowest[i]
    return luaTable({
      ...luaRuleOf(policy, now),
      strategy: strategy(policy),
      ...tierOf(policy, layout, i),
      lowest: low && luaTable({ ...luaRuleOf({ ...policy, ...limitsOf(low) }, now), strategy: strategy(low) })
    })
  })
  return luaTable({ blockMs, countDenied, varies: lowest !== null }, tiers)
}

/** The rules as arguments. */
export function ruleArguments(
  { terms, layout, policies, lowest, now }: RuleParts,
  names: StrategyNames
): readonly string[] {
  return [
    String(terms.blockMs),
    flag(terms.countDenied),
    flag(lowest !== null),
    String(policies.length),
    ...policies.flatMap((policy, i) => {
      const { slots, isApart, aligned, shapes } = tierOf(policy, layout, i)
      return [
        names.of(policy),
        ...[policy.limit, policy.windowMs, policy.capacity].map(argument),
        alignOf(policy, now),
        ...[policy.burst ?? 0, policy.delayAfter ?? 0, slots].map(argument),
        ...[isApart, aligned, shapes].map(flag),
        ...(lowest === null ? [] : lowestOf(lowest[i]!, policy, names))
      ]
    })
  ]
}

function lowestOf(lowest: Policy, policy: Policy, names: StrategyNames): string[] {
  if (lowest === policy) return ['', '', '']
  return [names.of(lowest), argument(lowest.limit), argument(lowest.capacity)]
}

function limitsOf({ limit, capacity }: Policy): Pick<Policy, 'limit' | 'capacity'> {
  return { limit, capacity }
}

function tierOf(policy: Policy, { slots, isApart }: Layout, tier: number) {
  return {
    slots: slots[tier]!,
    isApart: isApart[tier]!,
    aligned: policy.strategy.aligned?.(policy) === true,
    shapes: policy.shapes
  }
}

function flag(value: boolean): string {
  return value ? '1' : '0'
}
