import type { RequestFacts } from './request-facts.js'

/** Rules in the place of one limit, as `loadRules` of `headgate/rules` gives them. */
export interface RequestRules {
  /** The rules that hold now. */
  readonly table: RuleTable
  /**
   * Takes part in changes: `prepare` is called with rules that are to hold, makes ready for them, and returns what takes
   * them up. Where it throws, nothing changes for anybody.
   */
  follow(prepare: (next: RuleTable) => () => void): void
}

/** Rules as they were read once: they do not change. */
export interface RuleTable {
  /** All that says a limit, in order. */
  readonly rules: readonly RequestRule[]
  /** What of a request decides which of them hold. */
  readonly needs: { readonly user: boolean; readonly address: boolean; readonly route: boolean }
  /** Those that hold for a request, in order. */
  match(facts: RequestFacts): readonly RequestRule[]
}

/** One rule. */
export interface RequestRule {
  /** Where it stands in its table. */
  readonly index: number
  /** The same for what says the same, in every process. */
  readonly id: string
  /** What messages call it. */
  readonly label: string
  /** Options of a limiter; null for requests that nothing limits. */
  readonly options: object | null
}

/** The option that stands in the place of a limit. */
export interface RulesOption {
  /** Limits by rules of a file: `loadRules('limits.yaml')` of `headgate/rules`. */
  readonly rules: RequestRules
  readonly limits?: undefined
  readonly limit?: undefined
  readonly window?: undefined
  readonly concurrency?: undefined
}
