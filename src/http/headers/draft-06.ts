import type { Quota } from './quota.js'
import { integer, seconds } from './seconds.js'
import type { HeaderStyle } from './style.js'
import { tightestWindow } from './tightest-window.js'
import { resetMsOf } from './waits.js'
import { WindowList } from './window-list.js'

const FIELDS: readonly string[] = Object.freeze([
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset'
])

/**
 * draft-ietf-httpapi-ratelimit-headers-04, -05 and -06 §3: three fields of the expiring limit and
 * RateLimit-Policy. Without a known reset the policy alone is written (H3).
 */
export class Draft06 implements HeaderStyle {
  readonly name: string
  readonly fields = FIELDS
  readonly #policies = new WindowList({ distinctQuotas: true })

  constructor(name: 'draft-04' | 'draft-05' | 'draft-06') {
    this.name = name
  }

  fill(tiers: readonly Quota[], _nowMs: number, out: string[], at: number): void {
    out[at] = this.#policies.text(tiers)
    const tier = tightestWindow(tiers)
    const reset = tier === undefined ? -1 : seconds(resetMsOf(tier))
    if (tier === undefined || reset < 0) {
      out[at + 1] = out[at + 2] = out[at + 3] = ''
      return
    }
    out[at + 1] = String(integer(tier.limit))
    out[at + 2] = String(integer(tier.remaining))
    out[at + 3] = String(reset)
  }
}
