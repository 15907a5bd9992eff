import { nearest } from '../core/options.js'
import { addressCondition, type Condition } from './conditions.js'
import { type PathPattern, pathPattern } from './path-pattern.js'
import type { Report } from './problems.js'
import { type MapSource, plain, type Source } from './source.js'

const { METHODS } = process.getBuiltinModule('node:http')

/** The conditions that a `match` names, whose shape is right. What cannot be matched is reported. */
export function readMatch(match: MapSource, report: Report): readonly Condition[] {
  const conditions: Condition[] = []
  for (const [kind, { value }] of match.fields) {
    const said = plain(value)
    if (kind === 'method') {
      for (const one of value.kind === 'list' ? value.items : [value]) checkMethod(one, report)
      conditions.push({ kind, values: texts(said, (one) => one.toUpperCase()) })
    } else if (kind === 'route') conditions.push({ kind, values: texts(said) })
    else if (kind === 'user') conditions.push({ kind, values: valuesOf(said) })
    else if (kind === 'path') {
      const read = [...texts(said)].map((path) => [path, pathPattern(path)] as const)
      for (const [path, pattern] of read)
        if (typeof pattern === 'string')
          report.add(value.at, `\`path\` is ${JSON.stringify(path)}: ${pattern}`)
      conditions.push({ kind, patterns: read.map(([, pattern]) => pattern).filter(isPattern) })
    } else if (kind === 'header')
      for (const [name, values] of Object.entries(said as object))
        conditions.push({ kind, name: name.toLowerCase(), values: valuesOf(values) })
    else if (kind === 'address')
      try {
        conditions.push(addressCondition([...texts(said)]))
      } catch (error) {
        report.add(value.at, (error as Error).message)
      }
  }
  return conditions
}

/** A method that Node reads from no request would never hold. */
function checkMethod(source: Source, report: Report): void {
  const said = String(plain(source))
  const method = said.toUpperCase()
  if (METHODS.includes(method)) return
  const near = nearest(method, METHODS)
  const fix =
    method === '*'
      ? 'leave `method` out, and the rule holds for every method'
      : near === undefined
        ? "give one of node:http's METHODS, such as 'POST'"
        : `did you mean '${near}'?`
  report.add(source.at, `\`method\` is ${JSON.stringify(said)}, which is no method that Node reads: ${fix}`)
}

/** The same for conditions that say the same. */
export function conditionText(condition: Condition): string {
  if (condition.kind === 'path') return `path ${list(condition.patterns.map(({ text }) => text))}`
  const { values } = condition
  const name = condition.kind === 'header' ? ` ${condition.name}` : ''
  return `${condition.kind}${name} ${typeof values === 'boolean' ? values : list([...values])}`
}

function list(values: readonly string[]): string {
  return JSON.stringify([...values].sort())
}

function isPattern(pattern: PathPattern | string): pattern is PathPattern {
  return typeof pattern !== 'string'
}

function texts(said: unknown, form = (text: string) => text): ReadonlySet<string> {
  return new Set((Array.isArray(said) ? said : [said]).map((one) => form(String(one))))
}

function valuesOf(said: unknown): ReadonlySet<string> | boolean {
  return typeof said === 'boolean' ? said : texts(said)
}
