import type { Clock } from '../core/clock.js'
import type { Policy } from '../core/policy.js'
import type { LimiterTerms, Operating, Runner } from '../remote/backend.js'
import { turning } from './scripts/calendar-starts.js'
import { ownScript, sharedScript } from './scripts/decision-script.js'
import { checkLimits, type Layout, layoutOf } from './scripts/layout.js'
import { type RedisRules, ruleArguments } from './scripts/rules.js'
import type { Script, TimeSource } from './scripts/script.js'
import { StrategyNames } from './scripts/strategy-names.js'

/** Scripts that one limiter may have: servers keep them for long. With computed limits, all others share one. */
const mostScripts = 16

/** Makes the rules of one limiter, with a script for each as long as they are few. */
export class RedisOperating implements Operating {
  readonly #terms: LimiterTerms
  readonly #layout: Layout
  readonly #time: TimeSource
  readonly #runnerOf: (script: Script) => Runner
  readonly #jointRulesOf: (rules: readonly RedisRules[]) => readonly RedisRules[]
  readonly #now: Clock
  readonly #own = new Set<Script>()

  /** @param now about the time that the server has */
  constructor(
    terms: LimiterTerms,
    time: TimeSource,
    runnerOf: (script: Script) => Runner,
    now: Clock,
    jointRulesOf: (rules: readonly RedisRules[]) => readonly RedisRules[]
  ) {
    this.#terms = terms
    this.#layout = layoutOf(terms)
    this.#time = time
    this.#runnerOf = runnerOf
    this.#now = now
    this.#jointRulesOf = jointRulesOf
  }

  jointRules(rules: readonly RedisRules[]): readonly RedisRules[] {
    return this.#jointRulesOf(rules)
  }

  rulesFor(policies: readonly Policy[], lowest: readonly Policy[] | null): RedisRules {
    checkLimits(policies)
    return turning(policies, this.#now, (now) => this.#made(policies, lowest, now))
  }

  #made(policies: readonly Policy[], lowest: readonly Policy[] | null, now: number): RedisRules {
    const parts = { terms: this.#terms, layout: this.#layout, policies, lowest, now }
    const names = new StrategyNames([...policies, ...(lowest ?? [])])
    const { suffixes } = this.#layout
    const own = this.#own.size < mostScripts ? ownScript(this.#time, parts, names) : null
    if (own !== null) this.#own.add(own)
    const runner = this.#runnerOf(sharedScript(this.#time, parts, names))
    return { policies, runner, suffixes, own, argv: ruleArguments(parts, names), parts }
  }
}
