import { HeadgateError } from '../../core/errors.js'
import type { Backend } from '../backend.js'
import { checkedRenewal, promised } from '../contract.js'
import type { Location } from '../executor.js'
import type { Deadline } from '../time/deadline.js'
import type { Holding } from './held-permits.js'

/** What renews the permits of a store. */
export interface RenewalParts {
  readonly backend: Backend
  readonly leaseMs: number
  /** That of decisions, which breakers hear of. */
  readonly deadline: Deadline
  /** That of what nobody waits for. */
  readonly quietDeadline: Deadline
}

/**
 * Has a backend renew permits on keys of one shard. While its node fails, that may be the one call which finds it working
 * again: work that holds permits may go on for long without a new request.
 * @throws HeadgateError `HEADGATE_STORE_FAILED`
 */
export async function renewed(
  { backend, leaseMs, deadline, quietDeadline }: RenewalParts,
  { node }: Location,
  holdings: readonly Holding[]
): Promise<readonly boolean[]> {
  const { breaker } = node
  const isTrial = breaker.isOpen
  if (!breaker.admits())
    throw new HeadgateError('HEADGATE_STORE_FAILED', `${backend.name} is failing; it is not asked.`)
  return (isTrial ? deadline : quietDeadline).call(node, (call) =>
    promised('renew', backend.renew!(holdings, leaseMs, call)).then((areGone) =>
      checkedRenewal(areGone, holdings)
    )
  )
}
