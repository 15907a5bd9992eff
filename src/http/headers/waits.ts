import type { Quota } from './quota.js'

/**
 * ms until the tier admits more: of a denied tier until the same request is admitted, at least 1, with a
 * known reset in place of an unknown wait (H7); of an admitted one until it is full. Infinity when not known; `NaN` of a
 * tier means that, too.
 */
export function waitMs(tier: Quota): number {
  const wait = tier.allowed ? tier.resetMs : (tier.retryAfterMs ?? tier.resetMs)
  if (wait === null || Number.isNaN(wait)) return Infinity
  return tier.allowed || wait > 1 ? wait : 1
}

/**
 * ms that the reset (`t`) of the tier names: on a denied tier its Retry-After (H8), or its reset where the
 * wait is infinite. Infinity when there is none.
 */
export function resetMsOf(tier: Quota): number {
  const wait = waitMs(tier)
  return wait === Infinity && tier.resetMs !== null ? tier.resetMs : wait
}
