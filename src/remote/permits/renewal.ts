import { HeadgateError } from '../../core/errors.js'
import type { Policy } from '../../core/policy.js'
import type { Backend } from '../backend.js'
import { checkedRenewal, promised } from '../contract.js'
import type { Node } from '../nodes.js'
import type { StateExecutor } from '../state-executor.js'
import type { Deadline } from '../time/deadline.js'
import type { PermitOwner } from './holdings.js'

/** Two ways to ask a store. */
export interface Ways<T> {
  /** That of decisions, which breakers hear of. */
  readonly heard: T
  /** That of what nobody waits for: it takes a little longer. */
  readonly quiet: T
}

/** What renews permits, how many limiters they are of. */
export function renewalByShard(
  backend: Backend,
  leaseMs: number,
  deadlines: Ways<Deadline>
): PermitOwner['renew'] {
  return async ({ node }, holdings) =>
    wayTo(node, backend, deadlines).call(node, (call) =>
      promised('renew', backend.renew!(holdings, leaseMs, call)).then((areGone) =>
        checkedRenewal(areGone, holdings)
      )
    )
}

/** What renews the permits of one key after the other, where core decides on their state. */
export function renewalByKey(
  backend: Backend,
  leaseMs: number,
  executors: Ways<StateExecutor>,
  policies: readonly Policy[]
): PermitOwner['renew'] {
  return async (location, [holding]) =>
    wayTo(location.node, backend, executors).renew(holding!, location, leaseMs, policies)
}

/**
 * How a node is asked. While it fails, this may be the one call which finds it working again: work that holds permits may
 * go on for long without a new request.
 * @throws HeadgateError `HEADGATE_STORE_FAILED` if it is not to be asked now
 */
function wayTo<T>({ breaker }: Node, { name }: Backend, { heard, quiet }: Ways<T>): T {
  const isTrial = breaker.isOpen
  if (breaker.admits()) return isTrial ? heard : quiet
  throw new HeadgateError('HEADGATE_STORE_FAILED', `${name} is failing; it is not asked.`)
}
