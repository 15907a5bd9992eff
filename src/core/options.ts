import { HeadgateError } from './errors.js'
import { foreignHint } from './foreign-names.js'

/** One option, as the table of its room has it. */
export interface Option<T = unknown, Context = never> {
  /**
   * Returns the value as it is used, or the default; throws for what cannot work. Left out if the value has a meaning
   * only together with others; a comment on the table then says what reads it.
   */
  readonly read?: (option: string, value: unknown, context: Context) => T
  /** What gives it a meaning: whoever has one of these of his own does not inherit this one. */
  readonly dependsOn?: readonly string[]
  /** True if there is no default. Then the reader says what it needs, also in place of null. */
  readonly isRequired?: boolean
}

/**
 * The options of one room, by name, in the order in which error messages list them. Each name is in one table only:
 * whatever takes the options of several rooms spreads their tables into one.
 */
export type OptionTable = Readonly<Record<string, Option>>

/** A table that has each option of an interface, and no other. */
export type TableOf<Options> = { readonly [Name in keyof Required<Options>]: Option }

type Reader<T> = (option: string, value: unknown, context: never) => T

/** The values that a table reads. */
export type ReadBy<Table> = {
  readonly [Name in keyof Table as Table[Name] extends { readonly read: Reader<unknown> }
    ? Name
    : never]: Table[Name] extends {
    readonly read: Reader<infer T>
  }
    ? T
    : never
}

/**
 * Reads the options of a table, in its order.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function readOptions<Table extends OptionTable>(
  table: Table,
  options: object,
  context?: unknown
): ReadBy<Table> {
  const values: Record<string, unknown> = {}
  for (const [name, { read }] of Object.entries(table))
    if (read !== undefined) values[name] = read(name, given(options, name), context as never)
  return values as ReadBy<Table>
}

/** The value of an option; what another program has put on all objects is none. */
function given(options: object, name: string): unknown {
  if (name in Object.prototype && !Object.hasOwn(options, name)) return undefined
  return (options as Readonly<Record<string, unknown>>)[name]
}

/** The part of an options object that a table knows. */
export function pick(options: object, table: OptionTable): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(table, name)))
}

/** What of `outer` is inherited beside `own`: not what depends on an option that `own` has itself. */
export function inheritable(outer: object, own: object, table: OptionTable): object {
  const given = own as Readonly<Record<string, unknown>>
  const isCutOff = (name: string) => table[name]?.dependsOn?.some((option) => given[option] !== undefined)
  return Object.fromEntries(Object.entries(outer).filter(([name]) => isCutOff(name) !== true))
}

/** A value as an error message shows it: short, and never the value's own throwing code. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value == null)
    return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** An error about one option: its name, the value given, and what to write instead. */
export function badOption(option: string, value: unknown, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_BAD_OPTION', `\`${option}\` is ${shown(value)}: ${fix}`)
}

/**
 * Refuses option names that are not known, so that a misspelt one never leaves a route unprotected, and null.
 * @param known a table of options, or the names of what has parts that nobody else calls anything
 * @throws HeadgateError `HEADGATE_UNKNOWN_OPTION`, with what is meant where that is known
 */
export function checkNames(options: object, known: OptionTable | readonly string[], where: string): void {
  const isTable = !isList(known)
  const table: OptionTable = isTable ? known : Object.fromEntries(known.map((name) => [name, {}]))
  const unknown: string[] = []
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(table, name)) {
      if (value !== undefined) unknown.push(name)
    } else if (value === null && table[name]!.isRequired !== true)
      throw badOption(name, value, 'give it a value, or leave it out for the default')
  }
  if (unknown.length === 0) return
  let list: string | undefined = `known are ${quoted(Object.keys(table))}.`
  const lines = unknown.map((name) => {
    let hint = hintFor(name, table, isTable)
    if (hint === undefined) {
      hint = list
      list = undefined
    }
    return `\`${name.slice(0, longestName)}\` is no option of ${where}${hint === undefined ? '.' : `: ${hint}`}`
  })
  throw new HeadgateError('HEADGATE_UNKNOWN_OPTION', lines.join('\n'))
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function isList(known: OptionTable | readonly string[]): known is readonly string[] {
  return Array.isArray(known)
}

function hintFor(name: string, table: OptionTable, hasForeign: boolean): string | undefined {
  const isKnown = (option: string) => Object.hasOwn(table, option)
  const foreign = hasForeign ? foreignHint(name, isKnown) : undefined
  if (foreign !== undefined) return foreign
  const near = nearest(name, Object.keys(table))
  return near === undefined ? undefined : `did you mean \`${near}\`?`
}

/** The known name that was most likely meant, or undefined: one that differs by a slip or two, not by a syllable. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = (name.length < 6 ? 1 : name.length < 12 ? 2 : 3) + 1
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, longestName).toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Names longer than this are no misspelt option; what follows is not compared. */
const longestName = 64

/** Damerau's distance, for names of a few letters: what is inserted, left out, replaced, or changes places. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : replaced
      next.push(Math.min(replaced, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    before = row
    row = next
  }
  return row[b.length]!
}
