import { comparablePath } from '../http/path.js'

/** A path of a rule: literal, or with segments that may be anything, or the beginning of others. */
export interface PathPattern {
  /** As it stands in the file. */
  readonly written: string
  /** In the form of `comparablePath`. */
  readonly text: string
  /** One for each; null where any will do. */
  readonly segments: readonly (string | null)[]
  /** True where it is all below, too. */
  readonly isPrefix: boolean
  /** True where nothing but this very path matches. */
  readonly isLiteral: boolean
}

/** @returns the reason in place of a pattern where it is none */
export function pathPattern(text: string): PathPattern | string {
  const isPrefix = text.endsWith('/*')
  const path = comparablePath(isPrefix ? text.slice(0, -2) || '/' : text)
  const segments = path === '/' ? [] : path.slice(1).split('/')
  for (const segment of segments) {
    if (segment.includes('*')) return "`*` may only stand at the end, as in '/api/*'"
    if (segment.startsWith(':') && !/^:[a-z_]\w*$/.test(segment))
      return "a parameter is a whole segment such as ':id'"
  }
  const isLiteral = !isPrefix && !segments.some(isParameter)
  const named = segments.map((segment) => (isParameter(segment) ? null : segment))
  const canonical = `/${named.map((segment) => segment ?? ':').join('/')}`
  return {
    written: text,
    text: isPrefix ? `${canonical === '/' ? '' : canonical}/*` : canonical,
    segments: named,
    isPrefix,
    isLiteral
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}

export function matchesPath({ segments, isPrefix }: PathPattern, path: readonly string[]): boolean {
  if (isPrefix ? path.length < segments.length : path.length !== segments.length) return false
  for (let i = 0; i < segments.length; i++)
    if (segments[i] === null ? path[i] === '' : segments[i] !== path[i]) return false
  return true
}

/** True where all that `b` matches `a` matches, too. */
export function coversPath(a: PathPattern, b: PathPattern): boolean {
  if (b.isPrefix && !a.isPrefix) return false
  if (a.isPrefix ? b.segments.length < a.segments.length : b.segments.length !== a.segments.length)
    return false
  return a.segments.every((segment, i) => segment === null || segment === b.segments[i])
}
