import type { Policy } from '../../core/policy.js'
import type { Strategy } from '../../core/strategy.js'
import { called, isTwin, twinOf } from './twins.js'

/** What a script calls the strategies of some policies. It has no others, since each call makes its functions anew. */
export class StrategyNames {
  readonly #strategies: readonly Strategy[]

  constructor(policies: readonly Policy[]) {
    this.#strategies = [...new Set(policies.map(({ strategy }) => strategy))]
  }

  of({ strategy }: Policy): string {
    return String(this.#strategies.indexOf(strategy))
  }

  /** True if any of them is the user's. */
  get hasForeign(): boolean {
    return this.#strategies.some((strategy) => !isTwin(strategy))
  }

  /** Their Lua, under these names. */
  get lua(): string[] {
    return this.#strategies.map((strategy, i) => `strategies['${i}'] = ${called(twinOf(strategy)!)}`)
  }
}
