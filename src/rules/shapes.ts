import { badOption, checkNames } from '../core/options.js'
import type { Constraint } from './constraints.js'
import type { Report } from './problems.js'
import { plain, type Source } from './source.js'

/** A JSON Schema (2020-12), as far as it is used. */
export type Schema = Readonly<Record<string, unknown>>

/**
 * What may be written for an option: as a schema for editors, and as a check that reports each fault where it stands. Both
 * are made of the same parts, so that what the one refuses the other refuses.
 */
export interface Shape {
  readonly kind: Source['kind'] | 'any'
  readonly schema: Schema
  /** True where something of this kind may fit: then `check` says what is wrong with it. */
  resembles(source: Source): boolean
  check(source: Source, option: string, report: Report): void
}

/** The options of an object, and what is said about each in an editor. */
export type ShapeTable = Readonly<Record<string, { readonly about: string; readonly shape: Shape }>>

/** The fix for a number that is written as a text. */
function asNumber(value: unknown, accepts: (value: unknown) => boolean): string | undefined {
  if (typeof value !== 'string' || value.trim() === '' || !accepts(Number(value))) return undefined
  return `write it as a number, ${Number(value)}, not as a text`
}

function valueShape(schema: Schema, accepts: (value: unknown) => boolean, fix: string): Shape {
  return {
    kind: 'value',
    schema,
    resembles: (source) => source.kind === 'value' && accepts(source.value),
    check(source, option, report) {
      const value = plain(source)
      if (source.kind === 'value' && accepts(value)) return
      report.add(source.at, badOption(option, value, asNumber(value, accepts) ?? fix).message)
    }
  }
}

/** A non-empty text, or one of a pattern. */
export function text(fix: string, pattern = /./s): Shape {
  const schema =
    pattern.source === '.' ? { type: 'string', minLength: 1 } : { type: 'string', pattern: pattern.source }
  return valueShape(schema, (value) => typeof value === 'string' && pattern.test(value), fix)
}

export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Shape {
  const fix =
    most === Number.MAX_SAFE_INTEGER
      ? `give a whole number of at least ${least}`
      : `give a whole number from ${least} to ${most}`
  const accepts = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
  return valueShape({ type: 'integer', minimum: least, maximum: most }, accepts, fix)
}

/** A number with or without a fraction. */
export function amount(least: number, most: number): Shape {
  const accepts = (value: unknown) => typeof value === 'number' && value >= least && value <= most
  return valueShape(
    { type: 'number', minimum: least, maximum: most },
    accepts,
    `give a number from ${least} to ${most}`
  )
}

export function oneOf(values: readonly (string | boolean)[], fix: string): Shape {
  const schema = values.length === 1 ? { const: values[0] } : { enum: values }
  return valueShape(schema, (value) => values.includes(value as string), fix)
}

/** True or false. */
export const flag: Shape = valueShape(
  { type: 'boolean' },
  (value) => typeof value === 'boolean',
  'give true or false'
)

export function list(item: Shape, fix: string): Shape {
  return {
    kind: 'list',
    schema: { type: 'array', minItems: 1, items: item.schema },
    resembles: ({ kind }) => kind === 'list',
    check(source, option, report) {
      if (source.kind !== 'list' || source.items.length === 0)
        report.add(source.at, badOption(option, plain(source), fix).message)
      else for (const [i, one] of source.items.entries()) item.check(one, `${option}[${i}]`, report)
    }
  }
}

/** The first that resembles what is written says what is wrong with it. */
export function either(shapes: readonly Shape[], fix: string): Shape {
  return {
    kind: 'any',
    schema: { anyOf: shapes.map(({ schema }) => schema) },
    resembles: (source) => shapes.some((shape) => shape.resembles(source)),
    check(source, option, report) {
      const shape = shapes.find((one) => one.resembles(source))
      const value = plain(source)
      const accepts = (number: unknown) =>
        shapes.some((one) => one.resembles({ kind: 'value', at: source.at, value: number }))
      if (shape === undefined)
        report.add(source.at, badOption(option, value, asNumber(value, accepts) ?? fix).message)
      else shape.check(source, option, report)
    }
  }
}

/** One, or a list of them. */
export function orList(item: Shape, fix: string): Shape {
  return either([item, list(item, fix)], fix)
}

/** A map with names of the user's. */
export function named(pattern: RegExp, item: Shape, fix: string): Shape {
  return {
    kind: 'map',
    schema: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: pattern.source },
      additionalProperties: item.schema
    },
    resembles: ({ kind }) => kind === 'map',
    check(source, option, report) {
      if (source.kind !== 'map' || source.fields.size === 0) {
        report.add(source.at, badOption(option, plain(source), fix).message)
        return
      }
      for (const [name, { at, value }] of source.fields)
        if (pattern.test(name)) item.check(value, `${option}.${name}`, report)
        else report.add(at, `\`${option}\` has the name ${JSON.stringify(name)}: ${fix}`)
    }
  }
}

/** A shape of which others are made that it is made of. */
export function reference(name: string, shape: () => Shape): Shape {
  return {
    kind: 'any',
    schema: { $ref: `#/$defs/${name}` },
    resembles: (source) => shape().resembles(source),
    check: (source, option, report) => shape().check(source, option, report)
  }
}

/** An object of these options. The table is asked for late, for rules have rules in them. */
export function object(
  table: () => ShapeTable,
  { where, fix, constraints = [] }: { where: string; fix: string; constraints?: readonly Constraint[] }
): Shape {
  return {
    kind: 'map',
    get schema(): Schema {
      const properties = Object.entries(table()).map(([name, { about, shape }]) => [
        name,
        { description: about, ...shape.schema }
      ])
      const held = constraints.map(({ schema }) => schema)
      return {
        type: 'object',
        properties: Object.fromEntries(properties),
        additionalProperties: false,
        ...(held.length === 0 ? {} : { allOf: held })
      }
    },
    resembles: ({ kind }) => kind === 'map',
    check(source, option, report) {
      if (source.kind !== 'map') {
        report.add(source.at, badOption(option, plain(source), fix).message)
        return
      }
      const known = table()
      for (const [name, { at, value }] of source.fields) {
        if (!Object.hasOwn(known, name)) report.add(at, unknownName(name, Object.keys(known), where))
        else if (value.kind === 'value' && value.value === null)
          report.add(at, badOption(name, null, 'give it a value, or leave it out for the default').message)
        else known[name]!.shape.check(value, name, report)
      }
      for (const { fault } of constraints) {
        const found = fault((name) => {
          const field = source.fields.get(name)
          return field === undefined ? undefined : plain(field.value)
        })
        if (found !== null) report.add(source.fields.get(found.option)?.at ?? source.at, found.message)
      }
    }
  }
}

/** In the words of the options that are written in code, with what other limiters call them. */
function unknownName(name: string, known: readonly string[], where: string): string {
  try {
    checkNames({ [name]: true }, Object.fromEntries(known.map((one) => [one, {}])), where)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}
