import type { RequestFacts } from '../http/request-facts.js'
import { type Condition, holds } from './conditions.js'
import type { PathPattern } from './path-pattern.js'

/** What an index knows of a rule: its conditions, all of which must hold. */
export interface IndexedRule {
  readonly conditions: readonly Condition[]
}

/** A rule where the index has found it: by its number, with what is still to be asked. */
interface Entry {
  readonly order: number
  readonly rest: readonly Condition[]
}

/** Those of a segment of a path: of all that go on below, and of those that end here. */
interface PathNode {
  readonly literal: Map<string, PathNode>
  parameter: PathNode | null
  readonly below: Entry[]
  readonly here: Entry[]
}

/**
 * Finds the rules that hold for a request without asking them all. Each stands under what tells it best from others: a
 * path, a route, the value of a header, a user, or at least a method.
 */
export class RuleIndex {
  readonly #paths = new Map<string, Entry[]>()
  readonly #patterns: PathNode = pathNode()
  readonly #routes = new Map<string, Entry[]>()
  readonly #headers: { readonly name: string; readonly values: Map<string, Entry[]> }[] = []
  readonly #users = new Map<string, Entry[]>()
  readonly #methods = new Map<string, Entry[]>()
  readonly #others: Entry[] = []
  #hasPatterns = false

  constructor(rules: readonly IndexedRule[]) {
    const counts = new Map<string, number>()
    for (const { conditions } of rules)
      for (const condition of conditions)
        for (const anchor of anchorsOf(condition)) counts.set(anchor, (counts.get(anchor) ?? 0) + 1)
    for (const [order, { conditions }] of rules.entries()) {
      const best = bestOf(conditions, counts)
      this.#add(best, { order, rest: conditions.filter((one) => one !== best) })
    }
  }

  /** The number of the first rule that holds, or -1. */
  first(facts: RequestFacts): number {
    const found = this.#search(facts, null)
    return found === Number.POSITIVE_INFINITY ? -1 : found
  }

  /** Puts the numbers of all that hold into a list, in any order, some perhaps twice. */
  all(facts: RequestFacts, into: number[]): void {
    this.#search(facts, into)
  }

  #search(facts: RequestFacts, into: number[] | null): number {
    let best = scan(this.#others, facts, Number.POSITIVE_INFINITY, into)
    if (this.#paths.size > 0) best = scan(this.#paths.get(facts.path), facts, best, into)
    if (this.#hasPatterns) best = walk(this.#patterns, 0, facts, best, into)
    if (this.#routes.size > 0) {
      const { route } = facts
      if (typeof route === 'string') best = scan(this.#routes.get(route), facts, best, into)
    }
    for (let i = 0; i < this.#headers.length; i++) {
      const { name, values } = this.#headers[i]!
      const value = facts.header(name)
      if (value !== undefined) best = scan(values.get(value), facts, best, into)
    }
    if (this.#users.size > 0) {
      const { user } = facts
      if (user !== undefined) best = scan(this.#users.get(user), facts, best, into)
    }
    if (this.#methods.size > 0) {
      const { method } = facts
      best = scan(this.#methods.get(method), facts, best, into)
      if (method === 'HEAD') best = scan(this.#methods.get('GET'), facts, best, into)
    }
    return best
  }

  #add(anchor: Condition | null, entry: Entry): void {
    if (anchor === null) this.#others.push(entry)
    else if (anchor.kind === 'path') for (const pattern of anchor.patterns) this.#addPath(pattern, entry)
    else if (anchor.kind === 'header') {
      let header = this.#headers.find(({ name }) => name === anchor.name)
      if (header === undefined) {
        header = { name: anchor.name, values: new Map() }
        this.#headers.push(header)
      }
      push(header.values, anchor.values as ReadonlySet<string>, entry)
    } else if (anchor.kind === 'route') push(this.#routes, anchor.values, entry)
    else if (anchor.kind === 'user') push(this.#users, anchor.values as ReadonlySet<string>, entry)
    else push(this.#methods, anchor.values as ReadonlySet<string>, entry)
  }

  #addPath(pattern: PathPattern, entry: Entry): void {
    if (pattern.isLiteral) {
      push(this.#paths, [pattern.text], entry)
      return
    }
    this.#hasPatterns = true
    let node = this.#patterns
    for (const segment of pattern.segments) {
      const next = (segment === null ? node.parameter : node.literal.get(segment)) ?? pathNode()
      if (segment === null) node.parameter = next
      else node.literal.set(segment, next)
      node = next
    }
    ;(pattern.isPrefix ? node.below : node.here).push(entry)
  }
}

function pathNode(): PathNode {
  return { literal: new Map(), parameter: null, below: [], here: [] }
}

function push(map: Map<string, Entry[]>, values: Iterable<string>, entry: Entry): void {
  for (const value of values) {
    const entries = map.get(value)
    if (entries === undefined) map.set(value, [entry])
    else entries.push(entry)
  }
}

/** The places under which a condition would put its rule; none for what names no value. */
function anchorsOf(condition: Condition): readonly string[] {
  if (condition.kind === 'path') return condition.patterns.map(({ text }) => `path ${text}`)
  if (condition.kind === 'address' || typeof condition.values === 'boolean') return []
  const { kind } = condition
  const place = kind === 'header' ? `header ${condition.name}` : kind
  return [...condition.values].map((value) => `${place} ${value}`)
}

/** The condition that stands with the fewest others; null where none names a value. */
function bestOf(conditions: readonly Condition[], counts: ReadonlyMap<string, number>): Condition | null {
  let best: Condition | null = null
  let fewest = Number.POSITIVE_INFINITY
  for (const condition of conditions) {
    const anchors = anchorsOf(condition)
    if (anchors.length === 0) continue
    const most = Math.max(...anchors.map((anchor) => counts.get(anchor)!))
    if (most < fewest) {
      best = condition
      fewest = most
    }
  }
  return best
}

/** Looks through a list, which is in order: for the first that holds before `best`, or for all. */
function scan(
  entries: readonly Entry[] | undefined,
  facts: RequestFacts,
  best: number,
  into: number[] | null
): number {
  if (entries === undefined) return best
  for (let i = 0; i < entries.length; i++) {
    const { order, rest } = entries[i]!
    if (into === null && order >= best) return best
    if (!allHold(rest, facts)) continue
    if (into === null) return order
    into.push(order)
  }
  return best
}

function allHold(conditions: readonly Condition[], facts: RequestFacts): boolean {
  for (let i = 0; i < conditions.length; i++) if (!holds(conditions[i]!, facts)) return false
  return true
}

function walk(
  node: PathNode,
  depth: number,
  facts: RequestFacts,
  from: number,
  into: number[] | null
): number {
  let best = scan(node.below, facts, from, into)
  const { segments } = facts
  if (depth === segments.length) return scan(node.here, facts, best, into)
  const segment = segments[depth]!
  const literal = node.literal.get(segment)
  if (literal !== undefined) best = walk(literal, depth + 1, facts, best, into)
  if (node.parameter !== null && segment !== '') best = walk(node.parameter, depth + 1, facts, best, into)
  return best
}
