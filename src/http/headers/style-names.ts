import { HeadgateError } from '../../core/errors.js'
import { nearest, shown } from '../../core/options.js'
import { Draft03 } from './draft-03.js'
import { Draft06 } from './draft-06.js'
import { Draft07 } from './draft-07.js'
import { Draft11 } from './draft-11.js'
import { GitHubStyle, LegacyTrio } from './legacy.js'
import type { HeaderStyle } from './style.js'

/** A wire format by its version or dialect; `none` sends Retry-After only. */
export type HeaderStyleName =
  | 'draft-03'
  | 'draft-04'
  | 'draft-05'
  | 'draft-06'
  | 'draft-07'
  | 'draft-08'
  | 'draft-09'
  | 'draft-10'
  | 'draft-11'
  | 'x-ratelimit-github'
  | 'x-ratelimit-epoch'
  | 'x-ratelimit-delta'
  | 'x-rate-limit-twitter'
  | 'none'

const styles: Readonly<Record<HeaderStyleName, () => HeaderStyle>> = {
  'draft-03': () => new Draft03(),
  'draft-04': () => new Draft06('draft-04'),
  'draft-05': () => new Draft06('draft-05'),
  'draft-06': () => new Draft06('draft-06'),
  'draft-07': () => new Draft07(),
  'draft-08': () => new Draft11('draft-08'),
  'draft-09': () => new Draft11('draft-09'),
  'draft-10': () => new Draft11('draft-10'),
  'draft-11': () => new Draft11('draft-11'),
  'x-ratelimit-github': () => new GitHubStyle(),
  'x-ratelimit-epoch': () =>
    new LegacyTrio({ name: 'x-ratelimit-epoch', prefix: 'X-RateLimit', reset: 'epoch' }),
  'x-ratelimit-delta': () =>
    new LegacyTrio({ name: 'x-ratelimit-delta', prefix: 'X-RateLimit', reset: 'delta' }),
  'x-rate-limit-twitter': () =>
    new LegacyTrio({ name: 'x-rate-limit-twitter', prefix: 'X-Rate-Limit', reset: 'epoch' }),
  none: () => ({ name: 'none', fields: Object.freeze([]), fill() {} })
}

/** Every style name, in the order of the documentation. */
export const headerStyleNames: readonly HeaderStyleName[] = Object.freeze(
  Object.keys(styles) as HeaderStyleName[]
)

const KNOWN = headerStyleNames.map((name) => `'${name}'`).join(', ')

/**
 * New instances of the styles named. Throws HEADGATE_BAD_OPTION for an unknown name, an empty list, and
 * styles that cannot share a response (H13).
 */
export function stylesOf(named: HeaderStyleName | readonly HeaderStyleName[]): readonly HeaderStyle[] {
  const names: readonly unknown[] = Array.isArray(named) ? named : [named]
  if (names.length === 0) throw badHeaders('an empty list', "to send Retry-After only, give 'none'")
  const made = names.map(styleOf)
  for (let i = 1; i < made.length; i++)
    for (let j = 0; j < i; j++) {
      const clash = clashOf(made[j]!, made[i]!)
      if (clash !== null) throw badHeaders(`'${made[j]!.name}' with '${made[i]!.name}'`, clash)
    }
  return made
}

/**
 * New instances of the styles that a response has whose limiters want these, in the order in which they met it: each
 * after the first only what can stand beside those before it (H13).
 */
export function stylesBeside(there: readonly string[], wanted: readonly string[]): readonly HeaderStyle[] {
  // A later version of this package, in the same process, may have written one that is not known here.
  const known = there.filter((name) => Object.hasOwn(styles, name)).map(styleOf)
  const hasDraft = there.some(isDraft)
  for (const style of wanted.map(styleOf)) {
    if (there.includes(style.name) || (hasDraft && isDraft(style.name))) continue
    if (known.every((other) => clashOf(other, style) === null)) known.push(style)
  }
  return known
}

function styleOf(name: unknown): HeaderStyle {
  if (typeof name !== 'string') throw badHeaders(shown(name), `give a style name: ${KNOWN}`)
  if (Object.hasOwn(styles, name)) return styles[name as HeaderStyleName]()
  const near = nearest(name, headerStyleNames)
  throw badHeaders(shown(name), `${near ? `did you mean '${near}'? ` : ''}Known are ${KNOWN}`)
}

/** Why two styles cannot share a response; null where they can. */
function clashOf(a: HeaderStyle, b: HeaderStyle): string | null {
  if (a.name === 'none' || b.name === 'none') return "'none' stands alone"
  if (isDraft(a.name) && isDraft(b.name)) return 'two drafts cannot share a response, keep one'
  const shared = a.fields.find((field) => b.fields.includes(field))
  return shared === undefined ? null : `both write ${shared}, keep one`
}

function isDraft(name: string): boolean {
  return name.startsWith('draft-')
}

function badHeaders(given: string, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_BAD_OPTION', `\`headers\` is ${given}: ${fix}`)
}
