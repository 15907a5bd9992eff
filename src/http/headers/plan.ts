import { badOption } from '../../core/options.js'
import type { Quota } from './quota.js'
import { delaySeconds, httpDate, type RetryAfterFormat } from './retry-after.js'
import type { HeaderStyle } from './style.js'
import { type HeaderStyleName, stylesBeside, stylesOf } from './style-names.js'

/** Which fields a response carries, fixed at construction. One plan holds the caches of its styles. */
export interface HeaderPlan {
  /** Names of its styles, in the order of `fields`. */
  readonly styles: readonly string[]
  /** Canonical names of the quota fields, in the order of `fill`; Retry-After is not among them. */
  readonly fields: readonly string[]
  /** Which of the fields are Lists that name each policy, so that members of others may stand beside ours. */
  readonly lists: readonly string[]
  /** All fields and Retry-After, for Access-Control-Expose-Headers. */
  readonly exposed: readonly string[]
  /** True where `nowMs` is read. */
  readonly readsClock: boolean
  /** True where Retry-After is a date. */
  readonly isDated: boolean
  /** Writes the value of `fields[i]` into `out[i]`, '' where the field is absent. `nowMs`: epoch ms. */
  fill(tiers: readonly Quota[], nowMs: number, out: string[]): void
  /** The Retry-After value, '' if there is none (H7). `nowMs`: epoch ms, read by `http-date` only. */
  retryAfter(tiers: readonly Quota[], nowMs: number): string
}

/** How a plan writes what is not a matter of style. */
export interface HeaderPlanOptions {
  /** Form of Retry-After; `delay-seconds` unless said, which needs no clock. */
  readonly retryAfterFormat?: RetryAfterFormat
}

/**
 * The plan for one style, or for several that share no field (H13: legacy beside any, never two drafts).
 * Throws HEADGATE_BAD_OPTION for an unknown style, a combination that cannot work, an unknown format.
 *
 * @example headerPlan(['x-ratelimit-delta', 'draft-11'])
 */
export function headerPlan(
  styles: HeaderStyleName | readonly HeaderStyleName[],
  options: HeaderPlanOptions = {}
): HeaderPlan {
  const format: unknown = options.retryAfterFormat ?? 'delay-seconds'
  if (format !== 'delay-seconds' && format !== 'http-date')
    throw badOption('retryAfterFormat', format, "give 'delay-seconds' or 'http-date'")
  return new StylePlan(stylesOf(styles), format)
}

/**
 * The plan of a response on which another plan is followed already, and `own` is wanted as well: what is there comes
 * first, and of `own` what can stand beside it. It is `own` itself where that comes to the same.
 */
export function planBeside(there: HeaderPlan, own: HeaderPlan): HeaderPlan {
  const styles = stylesBeside(there.styles, own.styles)
  if (styles.map(({ name }) => name).join() === own.styles.join()) return own
  return new StylePlan(styles, own.isDated ? 'http-date' : 'delay-seconds')
}

class StylePlan implements HeaderPlan {
  readonly styles: readonly string[]
  readonly fields: readonly string[]
  readonly lists: readonly string[]
  readonly exposed: readonly string[]
  readonly readsClock: boolean
  readonly #styles: readonly HeaderStyle[]
  readonly isDated: boolean

  constructor(styles: readonly HeaderStyle[], format: RetryAfterFormat) {
    this.styles = styles.map(({ name }) => name)
    this.fields = Object.freeze(styles.flatMap((style) => style.fields))
    this.lists = styles.flatMap((style) => (style.hasLists === true ? style.fields : []))
    this.exposed = Object.freeze([...this.fields, 'Retry-After'])
    this.#styles = styles
    this.isDated = format === 'http-date'
    this.readsClock = this.isDated || styles.some((style) => style.readsClock === true)
  }

  fill(tiers: readonly Quota[], nowMs: number, out: string[]): void {
    let at = 0
    for (let i = 0; i < this.#styles.length; i++) {
      const style = this.#styles[i]!
      style.fill(tiers, nowMs, out, at)
      at += style.fields.length
    }
  }

  retryAfter(tiers: readonly Quota[], nowMs: number): string {
    return this.isDated ? httpDate(tiers, nowMs) : delaySeconds(tiers)
  }
}
