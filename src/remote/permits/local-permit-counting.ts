import { type Policy, withShare } from '../../core/policy.js'
import { type Action, Out, type Verdict } from '../../core/verdict.js'
import { type Fate, LocalCounting, type LocalCountingSettings } from '../outage/local-counting.js'
import type { LimiterPermits } from './limiter-permits.js'

/**
 * Decides in place of a store that fails, for a limiter that counts what is in flight: permits against this process's share,
 * of which all that it has out are taken, wherever that was; and the windows as ever.
 */
export class LocalPermitCounting extends LocalCounting {
  readonly #permits: LimiterPermits
  readonly #share: number
  readonly #counts: boolean
  readonly #shares = new WeakMap<Policy, Policy>()

  constructor(settings: LocalCountingSettings, permits: LimiterPermits) {
    super({ ...settings, policies: permits.tier.windowsOf(settings.policies) })
    this.#permits = permits
    this.#share = settings.share
    this.#counts = settings.onStoreError === 'local'
  }

  override decide(
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[],
    waitMs: number
  ): Verdict {
    if (!this.#counts) return super.decide(action, key, cost, policies, waitMs)
    const { tier, counts } = this.#permits
    const permit = this.#shareFor(tier.permitOf(policies))
    let isTaken = action.kind === 'take' && counts.take(key, cost, permit.capacity)
    const asked = tier.actionOn(action, isTaken)
    const windows = super.decide(asked, key, cost, tier.windowsOf(policies), waitMs)
    if (isTaken && !windows.isAllowed) {
      counts.release(key, cost)
      isTaken = false
    }
    const verdict = tier.verdict(windows, action, cost, tier.joined(windows.policies, permit), {
      count: counts.of(key),
      isTaken,
      blockedMs: windows.isBlocked ? windows.out[Out.retryAfterMs]! : 0
    })
    return isTaken ? { ...verdict, permit: this.#permits.takeHere(key, cost) } : verdict
  }

  override refund(
    key: string,
    cost: number,
    policies: readonly Policy[],
    chargedAt: number | undefined
  ): Fate {
    return super.refund(key, cost, this.#permits.tier.windowsOf(policies), chargedAt)
  }

  #shareFor(policy: Policy): Policy {
    const share = this.#shares.get(policy) ?? withShare(policy, this.#share)
    this.#shares.set(policy, share)
    return share
  }
}
