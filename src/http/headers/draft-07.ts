import type { Quota } from './quota.js'
import { integer, seconds } from './seconds.js'
import type { HeaderStyle } from './style.js'
import { tightestWindow } from './tightest-window.js'
import { resetMsOf } from './waits.js'
import { WindowList } from './window-list.js'

const FIELDS: readonly string[] = Object.freeze(['RateLimit', 'RateLimit-Policy'])

/**
 * draft-ietf-httpapi-ratelimit-headers-07 §3: RateLimit as a Dictionary of the expiring limit, and
 * RateLimit-Policy as in -06. Without a known reset the policy alone is written (H3).
 */
export class Draft07 implements HeaderStyle {
  readonly name = 'draft-07'
  readonly fields = FIELDS
  readonly #policies = new WindowList({ distinctQuotas: true })

  fill(tiers: readonly Quota[], _nowMs: number, out: string[], at: number): void {
    out[at + 1] = this.#policies.text(tiers)
    const tier = tightestWindow(tiers)
    const reset = tier === undefined ? -1 : seconds(resetMsOf(tier))
    if (tier === undefined || reset < 0) {
      out[at] = ''
      return
    }
    let text = 'limit='
    text += integer(tier.limit)
    text += ', remaining='
    text += integer(tier.remaining)
    text += ', reset='
    text += reset
    out[at] = text
  }
}
