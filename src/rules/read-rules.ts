import type { Condition } from './conditions.js'
import { Report, type RuleProblem } from './problems.js'
import { type Findings, type LimitOptions, readLimit } from './read-limit.js'
import { conditionText, readMatch } from './read-match.js'
import { ruleShape, rulesShape, settingTable } from './rule-options.js'
import { IndexedRules, type Place, type RuleGroup, type TableRule } from './rule-table.js'
import { type ListSource, type MapSource, plain, readSource, type Source } from './source.js'

const { createHash } = process.getBuiltinModule('node:crypto')

/** What a file of rules comes to. */
export interface ReadRules {
  readonly table: IndexedRules
  /** What works, but hardly as it is meant. */
  readonly warnings: readonly RuleProblem[]
}

/** What the rules within a rule have from it. */
interface Inherited {
  readonly conditions: readonly Condition[]
  readonly settings: LimitOptions
  readonly places: readonly Place[]
  readonly isFirst: boolean
}

const outermost: Inherited = { conditions: [], settings: {}, places: [], isFirst: true }

/**
 * Reads a file of rules: YAML, or JSON.
 * @param file what messages call it
 * @throws RulesError with all that is wrong
 */
export function readRules(text: string, file: string): ReadRules {
  return new Reader(file).read(text)
}

class Reader {
  readonly #file: string
  readonly #found: Findings
  readonly #rules: TableRule[] = []
  readonly #lines = new Map<string, number>()

  constructor(file: string) {
    this.#file = file
    this.#found = { report: new Report(file), warnings: new Report(file) }
  }

  read(text: string): ReadRules {
    const { report, warnings } = this.#found
    const source = readSource(text, report)
    report.check()
    if (source === null || plain(source) === null)
      report.add(
        { line: 1, column: 1 },
        "the file says nothing: give a list of rules, such as [{ limit: 100, window: '1m' }]"
      )
    else {
      rulesShape.check(source, 'rules', report)
      this.#readGroup(source, outermost)
      if (report.size === 0 && this.#rules.every(({ options }) => options === null))
        report.add(source.at, 'no rule limits anything: each says `limit: false`')
    }
    report.check()
    return { table: new IndexedRules(this.#rules), warnings: warnings.problems }
  }

  /** @returns the group, and how many elements it has */
  #readGroup(source: Source, outer: Inherited): { readonly group: RuleGroup; readonly size: number } {
    const isMap = source.kind === 'map'
    const mode = isMap ? plainField(source, 'match') : undefined
    const group: RuleGroup = { isFirst: mode === undefined ? outer.isFirst : mode === 'first' }
    const list = isMap ? source.fields.get('rules')?.value : source
    const items = list?.kind === 'list' ? (list as ListSource).items : []
    for (const [element, item] of items.entries())
      if (item.kind === 'map')
        this.#readRule(item, {
          ...outer,
          isFirst: group.isFirst,
          places: [...outer.places, { group, element }]
        })
    return { group, size: items.length }
  }

  #readRule(rule: MapSource, outer: Inherited): void {
    const isSound = hasShape(rule)
    const match = rule.fields.get('match')?.value
    const own = isSound && match?.kind === 'map' ? readMatch(match, this.#found.report) : []
    const conditions = [...outer.conditions, ...own]
    const settings = { ...outer.settings, ...settingsOf(rule) }
    const inner = { ...outer, conditions, settings }
    const within = rule.fields.get('rules')?.value
    const nested = within === undefined ? null : this.#readGroup(within, inner)
    const options = readLimit(rule, settings, { ...this.#found, isSound })
    if (options === undefined) return
    // What is left for the rule itself comes behind all that is within it.
    const last = nested === null ? [] : [{ group: nested.group, element: nested.size }]
    this.#add(rule, options, conditions, [...outer.places, ...last])
  }

  #add(
    rule: MapSource,
    options: LimitOptions | null,
    conditions: readonly Condition[],
    places: readonly Place[]
  ): void {
    const id = idOf(conditions, options)
    const { line } = rule.at
    // Rules without a limit have no counters to tell apart.
    const known = options === null ? undefined : this.#lines.get(id)
    if (known !== undefined)
      this.#found.report.add(
        rule.at,
        `the rule says the same as that of line ${known}: leave one of them out`
      )
    this.#lines.set(id, line)
    const name = plainField(rule, 'name')
    const label = `${name === undefined ? 'the rule' : `rule '${name}'`} of ${this.#file}:${line}`
    this.#rules.push({ index: this.#rules.length, id, label, options, conditions, places, at: rule.at })
  }
}

function plainField(source: MapSource, name: string): unknown {
  const field = source.fields.get(name)
  return field === undefined ? undefined : plain(field.value)
}

function settingsOf(rule: MapSource): LimitOptions {
  const given = [...rule.fields].filter(([name]) => Object.hasOwn(settingTable, name))
  return Object.fromEntries(given.map(([name, { value }]) => [name, plain(value)]))
}

/** True where all that a rule says itself has its shape: then its meaning can be looked at. */
function hasShape(rule: MapSource): boolean {
  const report = new Report('')
  const { at } = rule
  const fields = new Map(rule.fields)
  if (fields.has('rules')) {
    const none = { kind: 'value', at, value: false } as const
    const stub = { kind: 'map', at, fields: new Map([['limit', { at, value: none }]]) } as const
    fields.set('rules', { at, value: { kind: 'list', at, items: [stub] } })
  }
  ruleShape.check({ ...rule, fields }, 'rules', report)
  return report.size === 0
}

/** What a rule says, in a few characters: the same wherever and in whatever order it says it. */
function idOf(conditions: readonly Condition[], options: LimitOptions | null): string {
  const said = [...new Set(conditions.map(conditionText))].sort()
  return createHash('sha256')
    .update(JSON.stringify([said, canonical(options)]))
    .digest('base64url')
    .slice(0, 22)
}

function canonical(value: unknown): unknown {
  if (typeof value === 'function') return 0
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => [name, canonical(one)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
