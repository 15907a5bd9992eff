import type { Quota } from './quota.js'
import { integer, seconds } from './seconds.js'
import type { HeaderStyle } from './style.js'
import { tightestWindow } from './tightest-window.js'
import { resetMsOf } from './waits.js'
import { WindowList } from './window-list.js'

const FIELDS: readonly string[] = Object.freeze(['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'])

/**
 * draft-ietf-httpapi-ratelimit-headers-03 §5: three fields, the policies inside RateLimit-Limit after the
 * expiring limit (`100, 100;w=60`), no RateLimit-Policy. Without a known reset nothing is written (H3).
 */
export class Draft03 implements HeaderStyle {
  readonly name = 'draft-03'
  readonly fields = FIELDS
  readonly #policies = new WindowList({ distinctQuotas: false })

  fill(tiers: readonly Quota[], _nowMs: number, out: string[], at: number): void {
    const tier = tightestWindow(tiers)
    const reset = tier === undefined ? -1 : seconds(resetMsOf(tier))
    if (tier === undefined || reset < 0) {
      out[at] = out[at + 1] = out[at + 2] = ''
      return
    }
    const policies = this.#policies.text(tiers)
    let limits = String(integer(tier.limit))
    if (policies !== '') {
      limits += ', '
      limits += policies
    }
    out[at] = limits
    out[at + 1] = String(integer(tier.remaining))
    out[at + 2] = String(reset)
  }
}
