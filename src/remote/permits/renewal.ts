import { HeadgateError } from '../../core/errors.js'
import type { Policy } from '../../core/policy.js'
import type { Backend } from '../backend.js'
import { checkedRenewal, promised } from '../contract.js'
import type { Node, Nodes } from '../nodes.js'
import type { StateExecutor } from '../state-executor.js'
import { Deadline, type DeadlineSettings } from '../time/deadline.js'
import { renewalsPerLease } from './held-permits.js'
import type { PermitOwner } from './holdings.js'

/** Two ways to ask a store. */
export interface Ways<T> {
  /** That of what is to find out whether a node that fails works again: it has no more time than a decision. */
  readonly trial: T
  /** That of all others. Nobody waits for them, so they have more. */
  readonly usual: T
}

/**
 * How long renewals have. Breakers hear of them, as of decisions: where nothing else is asked, an outage shows in them
 * alone.
 */
export class RenewalDeadlines implements Ways<Deadline> {
  readonly trial: Deadline
  readonly usual: Deadline

  constructor(
    nodes: Pick<Nodes, 'succeed' | 'fail'>,
    calls: DeadlineSettings,
    { quietMs, leaseMs }: { readonly quietMs: number; readonly leaseMs: number }
  ) {
    // A node that hangs must not keep the permits on others from their renewal.
    const usualMs = Math.min(quietMs, Math.floor(leaseMs / renewalsPerLease))
    const trialMs = Math.min(calls.deadlineMs, usualMs)
    const timeName = 'the time that a renewal of permits has'
    this.trial = new Deadline(nodes, { ...calls, deadlineMs: trialMs, timeName })
    const heard: typeof nodes = {
      // A node that is too slow for decisions does not work again because it renews in time.
      succeed: (node) => (node.breaker.isOpen ? undefined : nodes.succeed(node)),
      fail: (node, error) => nodes.fail(node, error)
    }
    this.usual = new Deadline(heard, { ...calls, deadlineMs: usualMs, timeName })
  }
}

/** What renews permits, how many limiters they are of. */
export function renewalByShard(
  backend: Backend,
  leaseMs: number,
  deadlines: RenewalDeadlines
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
function wayTo<T>({ breaker }: Node, { name }: Backend, { trial, usual }: Ways<T>): T {
  const isTrial = breaker.isOpen
  if (breaker.admits()) return isTrial ? trial : usual
  throw new HeadgateError('HEADGATE_STORE_FAILED', `${name} is failing; it is not asked.`)
}
