import type { Quota } from './quota.js'
import { integer, windowSeconds } from './seconds.js'

/**
 * The policy list of draft-03 to -07, such as `10;w=1, 1000;w=3600` (draft-06 §3.2): tiers without window or
 * with an infinite limit left out, '' when nothing is left. The text is rebuilt only when a limit or a window
 * differs from the last call.
 */
export class WindowList {
  readonly #distinct: boolean
  readonly #limits: number[] = []
  readonly #windows: (number | null)[] = []
  #text = ''

  /** `distinctQuotas`: of equal quotas keep the longest window (H9; draft-06 §3.2, draft-07 §3.5). */
  constructor(options: { distinctQuotas: boolean }) {
    this.#distinct = options.distinctQuotas
  }

  /** The list for these tiers, in configuration order. */
  text(tiers: readonly Quota[]): string {
    if (!this.#known(tiers)) this.#remember(tiers)
    return this.#text
  }

  #known(tiers: readonly Quota[]): boolean {
    if (tiers.length !== this.#limits.length) return false
    for (let i = 0; i < tiers.length; i++) {
      const tier = tiers[i]!
      if (tier.limit !== this.#limits[i] || tier.policy.quotaWindowMs !== this.#windows[i]) return false
    }
    return true
  }

  #remember(tiers: readonly Quota[]): void {
    this.#limits.length = this.#windows.length = tiers.length
    this.#text = ''
    for (let i = 0; i < tiers.length; i++) {
      const tier = tiers[i]!
      this.#limits[i] = tier.limit
      this.#windows[i] = tier.policy.quotaWindowMs
      const window = windowSeconds(tier.policy.quotaWindowMs)
      if (window === 0 || tier.limit === Infinity || (this.#distinct && isImplied(tiers, i))) continue
      if (this.#text !== '') this.#text += ', '
      this.#text += `${integer(tier.limit)};w=${window}`
    }
  }
}

/** Whether another tier states the same quota over a longer window, or over the same one earlier. */
function isImplied(tiers: readonly Quota[], at: number): boolean {
  const quota = integer(tiers[at]!.limit)
  const window = windowSeconds(tiers[at]!.policy.quotaWindowMs)
  for (let i = 0; i < tiers.length; i++) {
    const other = tiers[i]!
    if (i === at || other.limit === Infinity || integer(other.limit) !== quota) continue
    const longer = windowSeconds(other.policy.quotaWindowMs) - window
    if (longer > 0 || (longer === 0 && i < at)) return true
  }
  return false
}
