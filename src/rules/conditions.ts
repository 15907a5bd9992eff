import { addressMatcher } from '../http/address-list.js'
import type { RequestFacts } from '../http/request-facts.js'
import { coversPath, matchesPath, type PathPattern } from './path-pattern.js'

/** What must be so of a request for a rule to hold: one of several values, or that there is any, or none. */
export type Condition =
  | { readonly kind: 'method'; readonly values: ReadonlySet<string> }
  | { readonly kind: 'route'; readonly values: ReadonlySet<string> }
  | { readonly kind: 'path'; readonly patterns: readonly PathPattern[] }
  | { readonly kind: 'header'; readonly name: string; readonly values: ReadonlySet<string> | boolean }
  | { readonly kind: 'user'; readonly values: ReadonlySet<string> | boolean }
  | {
      readonly kind: 'address'
      readonly values: ReadonlySet<string>
      readonly matches: (address: string) => boolean
    }

/** @throws HeadgateError for what is no address */
export function addressCondition(values: readonly string[]): Condition {
  return { kind: 'address', values: new Set(values), matches: addressMatcher('address', values) }
}

export function holds(condition: Condition, facts: RequestFacts): boolean {
  switch (condition.kind) {
    case 'method':
      return hasMethod(condition.values, facts.method)
    case 'route': {
      const { route } = facts
      return typeof route === 'string' && condition.values.has(route)
    }
    case 'path': {
      const { patterns } = condition
      for (const pattern of patterns) if (matchesPath(pattern, facts.segments)) return true
      return false
    }
    case 'header':
      return hasValue(condition.values, facts.header(condition.name))
    case 'user':
      return hasValue(condition.values, facts.user)
    case 'address': {
      const { address } = facts
      return address !== null && condition.matches(address)
    }
  }
}

/** Frameworks answer HEAD by what is declared for GET. */
function hasMethod(values: ReadonlySet<string>, method: string): boolean {
  return values.has(method) || (method === 'HEAD' && values.has('GET'))
}

function hasValue(values: ReadonlySet<string> | boolean, value: string | undefined): boolean {
  if (typeof values === 'boolean') return (value !== undefined) === values
  return value !== undefined && values.has(value)
}

/** True where each request for which `b` holds is one for which `a` holds; false where that cannot be told. */
export function covers(a: Condition, b: Condition): boolean {
  switch (a.kind) {
    case 'path':
      return b.kind === 'path' && b.patterns.every((one) => a.patterns.some((wide) => coversPath(wide, one)))
    case 'header':
      return b.kind === 'header' && a.name === b.name && coversValues(a.values, b.values)
    case 'user':
      return b.kind === 'user' && coversValues(a.values, b.values)
    case 'method':
      return b.kind === 'method' && [...b.values].every((method) => hasMethod(a.values, method))
    default:
      return b.kind === a.kind && [...b.values].every((value) => a.values.has(value))
  }
}

function coversValues(a: ReadonlySet<string> | boolean, b: ReadonlySet<string> | boolean): boolean {
  if (typeof a === 'boolean') return typeof b === 'boolean' ? a === b : a
  return typeof b !== 'boolean' && [...b].every((value) => a.has(value))
}
