import { windowsOf } from '../core/permit-buckets.js'
import type { LimiterTerms } from './backend.js'
import { partsOf } from './key-text.js'

/**
 * For how many ms more a key is blocked whose state is this text, `Infinity` without end, 0 if it is not: for `blocks` of
 * backends that have core decide on their keys.
 * @param now the backend's time, ms
 */
export function blockIn({ policies }: Pick<LimiterTerms, 'policies'>, text: string, now: number): number {
  if (text === '') return 0
  const tiers = windowsOf(policies).length
  const [until, since] = partsOf(text, tiers).numbers[tiers] ?? []
  // A step back of the clock neither ends nor lengthens a block.
  return until === undefined || since === undefined ? 0 : Math.max(0, until - Math.max(now, since))
}
