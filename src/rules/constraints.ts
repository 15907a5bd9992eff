import type { Schema } from './shapes.js'

/** What is refused, with the reason, although its options alone are right. */
export interface Constraint {
  readonly schema: Schema
  /** What is said, and of which option; null where it holds. `value` gives what is written for an option. */
  readonly fault: (
    value: (name: string) => unknown
  ) => { readonly option: string; readonly message: string } | null
}

/** Options that must be given. */
export function required(names: readonly string[], fix: string): Constraint {
  return {
    schema: { required: names },
    fault(value) {
      const missing = names.find((name) => value(name) === undefined)
      return missing === undefined ? null : { option: missing, message: `\`${missing}\` is missing: ${fix}` }
    }
  }
}

/** Options of which at most one may be given. */
export function atMostOne(names: readonly string[], fix: string): Constraint {
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other] as const))
  return {
    schema: { not: { anyOf: pairs.map((pair) => ({ required: pair })) } },
    fault(value) {
      const [first, second] = names.filter((name) => value(name) !== undefined)
      if (second === undefined) return null
      return { option: second, message: `\`${second}\` stands beside \`${first}\`: ${fix}` }
    }
  }
}
