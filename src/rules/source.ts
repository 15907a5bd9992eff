import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLError,
  type YAMLMap
} from 'yaml'
import type { Position, Report } from './problems.js'

/** What a file says, and where. */
export type Source = MapSource | ListSource | ValueSource

export interface MapSource {
  readonly kind: 'map'
  readonly at: Position
  readonly fields: ReadonlyMap<string, Field>
}

/** A field of a map. */
export interface Field {
  /** Where its name stands. */
  readonly at: Position
  readonly value: Source
}

export interface ListSource {
  readonly kind: 'list'
  readonly at: Position
  readonly items: readonly Source[]
}

export interface ValueSource {
  readonly kind: 'value'
  readonly at: Position
  readonly value: unknown
}

/** Deeper than anybody nests rules, so that what an alias makes endless comes to an end. */
const deepest = 64
/** More than any file of rules says, aliases written out. */
const most = 1_000_000

/** Reads YAML 1.2, which JSON is, too. Null where it says nothing that could be read. */
export function readSource(text: string, report: Report): Source | null {
  const lines = new LineCounter()
  // Under 'silent', what follows a first document would be left out without a word.
  const document = parseDocument(withoutMark(text), {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error'
  })
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  for (const error of [...document.errors, ...document.warnings]) report.add(at(error.pos[0]), faultOf(error))
  if (document.errors.length > 0) return null
  let left = most
  const read = (node: ParsedNode | null, where: number, depth: number): Source => {
    const offset = node?.range?.[0] ?? where
    if (depth > deepest || left-- <= 0) {
      report.add(at(offset), 'it is nested too deeply, or too long: does an alias contain itself?')
      return { kind: 'value', at: at(offset), value: undefined }
    }
    if (isAlias(node)) {
      const source = read((node.resolve(document) as ParsedNode | undefined) ?? null, offset, depth + 1)
      return { ...source, at: at(offset) }
    }
    if (isMap(node)) return { kind: 'map', at: at(offset), fields: fieldsOf(node as YAMLMap.Parsed, depth) }
    if (isSeq(node))
      return {
        kind: 'list',
        at: at(offset),
        items: node.items.map((item) => read(item as ParsedNode | null, offset, depth + 1))
      }
    return { kind: 'value', at: at(offset), value: isScalar(node) ? node.value : null }
  }
  const fieldsOf = (map: YAMLMap.Parsed, depth: number): Map<string, Field> => {
    const fields = new Map<string, Field>()
    for (const { key, value } of map.items) {
      const start = key.range[0]
      const name = isScalar(key) ? key.value : undefined
      if (typeof name === 'string' || typeof name === 'number' || typeof name === 'boolean')
        fields.set(String(name), { at: at(start), value: read(value, start, depth + 1) })
      else report.add(at(start), 'this is no name of an option')
    }
    return fields
  }
  return read(document.contents, 0, 0)
}

/** Some editors begin a file with a byte order mark, which is no part of what it says. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

function faultOf({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS')
    return 'a second document begins here: write one document a file, or all rules in one list'
  if (code === 'DUPLICATE_KEY') return 'this stands here already, before: keep one of both'
  if (code === 'BLOCK_IN_FLOW') return 'this is not expected here: is a comma or a bracket missing before it?'
  return message
}

/** What a source says, without where. */
export function plain(source: Source): unknown {
  if (source.kind === 'value') return source.value
  if (source.kind === 'list') return source.items.map(plain)
  return Object.fromEntries([...source.fields].map(([name, { value }]) => [name, plain(value)]))
}
