import { checkNames } from '../../core/options.js'
import { type HeaderPlan, type HeaderPlanOptions, headerPlan } from './plan.js'
import type { Quota } from './quota.js'
import type { HeaderStyleName } from './style-names.js'

/** How `headersOf` writes a decision. */
export interface HeadersOfOptions extends HeaderPlanOptions {
  /** `draft-06` unless said. */
  readonly style?: HeaderStyleName | readonly HeaderStyleName[]
  /** Epoch ms, for the styles and formats that name an instant; the system clock unless said. */
  readonly nowMs?: number
}

const OPTION_NAMES: readonly string[] = ['style', 'nowMs', 'retryAfterFormat']

let last:
  | { style: HeaderStyleName; format: HeaderPlanOptions['retryAfterFormat']; plan: HeaderPlan }
  | undefined

/**
 * Field names and values for a decision of one or more tiers (configuration order), Retry-After among them
 * when a tier denied: for servers without the middleware. Throws as `headerPlan` does, and
 * HEADGATE_UNKNOWN_OPTION for an option that it does not have.
 *
 * @example for (const [name, value] of Object.entries(headersOf(tiers))) response.headers.set(name, value)
 */
export function headersOf(tiers: readonly Quota[], options: HeadersOfOptions = {}): Record<string, string> {
  const plan = planOf(options)
  const nowMs = options.nowMs ?? Date.now()
  const values: string[] = []
  const headers: Record<string, string> = {}
  plan.fill(tiers, nowMs, values)
  for (let i = 0; i < plan.fields.length; i++) {
    if (values[i] !== '') headers[plan.fields[i]!] = values[i]!
  }
  const retryAfter = plan.retryAfter(tiers, nowMs)
  if (retryAfter !== '') headers['Retry-After'] = retryAfter
  return headers
}

/** A single style keeps its plan from call to call; a list may change between calls. */
function planOf(options: HeadersOfOptions): HeaderPlan {
  checkNames(options, OPTION_NAMES, 'toHeaders')
  const style = options.style ?? 'draft-06'
  const format = options.retryAfterFormat
  if (typeof style !== 'string') return headerPlan(style, options)
  if (last === undefined || last.style !== style || last.format !== format) {
    last = { style, format, plan: headerPlan(style, options) }
  }
  return last.plan
}
