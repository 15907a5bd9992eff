import type { Decision } from '../core/decision.js'
import { type HeadersOfOptions, headersOf, type Quota } from './headers/index.js'

/** A decision, or the like with as much as one knows. */
export type HeaderDecision = Pick<Decision, 'allowed' | 'limit' | 'remaining' | 'retryAfterMs' | 'resetMs'> &
  Partial<Pick<Decision, 'policy' | 'tiers'>>

/** Stands for the policy of a decision that was copied without it: its window is not known. */
const unknownPolicy = { name: 'default', quotaWindowMs: null }

/**
 * The headers of a decision, by name, `Retry-After` among them when it denies: for servers without an adapter.
 * @example
 * for (const [name, value] of Object.entries(toHeaders(decision))) response.setHeader(name, value)
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for a style that is not known
 */
export function toHeaders(decision: HeaderDecision, options?: HeadersOfOptions): Record<string, string> {
  const tiers: readonly HeaderDecision[] = decision.tiers ?? [decision]
  const quotas = tiers.map(
    (tier): Quota => (tier.policy ? (tier as Quota) : { ...tier, policy: unknownPolicy })
  )
  return headersOf(quotas, options)
}
