import type { Quota } from './quota.js'
import { integer, seconds } from './seconds.js'
import type { HeaderStyle } from './style.js'
import { tightestWindow } from './tightest-window.js'
import { resetMsOf } from './waits.js'

/**
 * X-RateLimit-* without a specification: limit, remaining and reset of the expiring tier, reset as epoch
 * seconds or as delta seconds, left out where not known.
 */
export class LegacyTrio implements HeaderStyle {
  readonly name: string
  readonly fields: readonly string[]
  readonly readsClock: boolean

  constructor(options: { name: string; prefix: string; reset: 'epoch' | 'delta' }) {
    const { name, prefix, reset } = options
    this.name = name
    this.fields = Object.freeze([`${prefix}-Limit`, `${prefix}-Remaining`, `${prefix}-Reset`])
    this.readsClock = reset === 'epoch'
  }

  fill(tiers: readonly Quota[], nowMs: number, out: string[], at: number): void {
    const tier = tightestWindow(tiers)
    if (tier === undefined) {
      out[at] = out[at + 1] = out[at + 2] = ''
      return
    }
    out[at] = String(integer(tier.limit))
    out[at + 1] = String(integer(tier.remaining))
    out[at + 2] = resetText(tier, this.readsClock ? nowMs : 0)
  }
}

const GITHUB_FIELDS: readonly string[] = Object.freeze([
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Used',
  'X-RateLimit-Reset',
  'X-RateLimit-Resource'
])

/** GitHub's dialect: epoch reset, used = limit - remaining, resource = policy name (H15; GitHub REST docs). */
export class GitHubStyle implements HeaderStyle {
  readonly name = 'x-ratelimit-github'
  readonly fields = GITHUB_FIELDS
  readonly readsClock = true

  fill(tiers: readonly Quota[], nowMs: number, out: string[], at: number): void {
    const tier = tightestWindow(tiers)
    if (tier === undefined) {
      for (let i = 0; i < GITHUB_FIELDS.length; i++) out[at + i] = ''
      return
    }
    const limit = integer(tier.limit)
    const remaining = integer(tier.remaining)
    out[at] = String(limit)
    out[at + 1] = String(remaining)
    out[at + 2] = String(Math.max(0, limit - remaining))
    out[at + 3] = resetText(tier, nowMs)
    out[at + 4] = tier.policy.name
  }
}

/** The reset in seconds after the origin: delta seconds for an `originMs` of 0, epoch seconds for now in epoch ms. */
function resetText(tier: Quota, originMs: number): string {
  // whole ms before the sum, in which a fraction would be lost
  const reset = seconds(originMs + Math.max(0, Math.ceil(resetMsOf(tier))))
  return reset < 0 ? '' : String(reset)
}
