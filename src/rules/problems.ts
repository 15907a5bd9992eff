import { HeadgateError } from '../core/errors.js'

/** Where something stands in a text, counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** What is wrong with a file of rules, or worth a word, and where. */
export interface RuleProblem extends Position {
  readonly file: string
  /** Names the option, its value and the fix. */
  readonly message: string
}

/** A file of rules cannot be used. `problems` has all that is wrong with it, from top to bottom. */
export class RulesError extends HeadgateError {
  readonly problems: readonly RuleProblem[]

  constructor(problems: readonly RuleProblem[], options?: ErrorOptions) {
    super('HEADGATE_BAD_RULES', problems.map(problemText).join('\n'), options)
    this.problems = problems
  }
}

/** As compilers write it, and editors read it: `limits.yaml:3:12: message`. */
export function problemText({ file, line, column, message }: RuleProblem): string {
  return `${file}:${line}:${column}: ${message}`
}

/** Collects what is wrong with one file. */
export class Report {
  readonly #file: string
  readonly #problems: RuleProblem[] = []

  constructor(file: string) {
    this.#file = file
  }

  add({ line, column }: Position, message: string): void {
    const known = this.#problems.some((one) => one.line === line && one.message === message)
    if (!known) this.#problems.push({ file: this.#file, line, column, message })
  }

  /** True where something is wrong already. */
  has({ line, column }: Position): boolean {
    return this.#problems.some((one) => one.line === line && one.column === column)
  }

  get size(): number {
    return this.#problems.length
  }

  /** From top to bottom. */
  get problems(): readonly RuleProblem[] {
    return [...this.#problems].sort((a, b) => a.line - b.line || a.column - b.column)
  }

  /** @throws RulesError where anything is wrong */
  check(): void {
    if (this.size > 0) throw new RulesError(this.problems)
  }
}
