import { transformSync } from 'esbuild'
import ts from 'typescript'
import { Limit } from '../../src/index.js'

/**
 * The kinds of decorators: TypeScript's `experimentalDecorators`, and those of the standard, as esbuild compiles them
 * and as TypeScript does, which gives them no metadata.
 */
export const kinds = ['legacy', 'standard', 'standard without metadata'] as const
export type Kind = (typeof kinds)[number]

/** A class whose methods are not known by name. */
export type AnyClass = new () => Record<PropertyKey, (...given: never[]) => unknown>

/** Runs source text that declares classes and returns one or several; it finds `Limit` and what is in `scope`. */
export function evaluated<Classes = AnyClass>(
  kind: Kind,
  source: string,
  scope: Readonly<Record<string, unknown>> = {}
): Classes {
  const exports = {} as { returned: Classes }
  const code = compiled(kind, `exports.returned = (() => {${source}})()`)
  new Function('exports', 'Limit', ...Object.keys(scope), code)(exports, Limit, ...Object.values(scope))
  return exports.returned
}

function compiled(kind: Kind, source: string): string {
  if (kind === 'standard without metadata')
    return ts.transpile(source, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS })
  const compilerOptions = { experimentalDecorators: kind === 'legacy' }
  return transformSync(source, {
    loader: 'ts',
    format: 'cjs',
    target: 'es2022',
    tsconfigRaw: { compilerOptions }
  }).code
}
