import { badOption, type ReadBy, type TableOf } from '../core/options.js'
import { countsInFlight } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import { oneOf, wholeNumber } from '../core/readers.js'
import type { OnStoreError } from '../core/verdict.js'

/** Options of a limiter that matter only with a store outside the process. With others they are refused. */
export interface RemoteLimiterSettings {
  /**
   * What to do while a store outside the process fails: `'allow'` or `'deny'` every request, or count in this process
   * (`'local'`). The store's own setting, if left out.
   */
  readonly onStoreError?: OnStoreError | undefined
  /** This process's part of every limit under `'local'`: 1 / N if N processes share the limit. */
  readonly share?: number | undefined
  /**
   * How many units to charge the store at once for a key that is used often; they are then spent in this process without
   * asking. N processes may then admit up to N · lease more than the limit of anything but fixed windows, which they
   * never exceed.
   */
  readonly lease?: number | undefined
}

/** What decides whether these options mean anything. */
export interface RemoteTerms {
  /** True if the limiter's store is outside the process. */
  readonly isRemote: boolean
  readonly policies: readonly Policy[]
  /** False where the limits are computed for each request, and stand-ins in the policies. */
  readonly areLimitsKnown: boolean
  readonly countDenied: boolean
}

const wordOf = oneOf(['allow', 'deny', 'local'], "give 'allow', 'deny' or 'local'")

/** How those are read. */
export const remoteLimiterOptions = {
  onStoreError: { read: ofRemote(onStoreErrorOf), dependsOn: ['store'] },
  share: { read: ofRemote(shareOf), dependsOn: ['store', 'onStoreError'] },
  lease: { read: ofRemote(leaseOf), dependsOn: ['store'] }
} as const satisfies TableOf<RemoteLimiterSettings>

/** Those options, read. The store decides what is undefined. */
export type ReadRemoteLimiterSettings = ReadBy<typeof remoteLimiterOptions>

type Read<T> = (option: string, value: unknown, terms: RemoteTerms) => T | undefined

/** Refuses an option where the store is in the process, and would never look at it. */
function ofRemote<T>(read: Read<T>): Read<T> {
  return (option, value, terms) => {
    if (value === undefined) return undefined
    if (terms.isRemote) return read(option, value, terms)
    throw badOption(
      option,
      value,
      'it does nothing with a store in this process, which counts for this process alone; give a `store` such as redisStore(client), or leave it out'
    )
  }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` */
export function onStoreErrorOf(option: string, value: unknown): OnStoreError | undefined {
  return wordOf(option, value)
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` */
export function shareOf(option: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0 && value <= 1)) return value
  throw badOption(option, value, 'give 1 divided by the number of processes that share the limit')
}

function leaseOf(option: string, value: unknown, terms: RemoteTerms): number {
  const { policies, areLimitsKnown, countDenied } = terms
  const lease = wholeNumber(option, value, 1)
  if (countDenied)
    throw badOption(
      option,
      lease,
      'denied requests that are to be charged must reach the store; leave it out'
    )
  if (policies.some(countsInFlight))
    throw badOption(
      option,
      lease,
      'what `concurrency` counts is released one by one, and cannot be taken ahead; leave it out, or give the windows a limiter of their own'
    )
  for (const { name, capacity, strategy } of policies) {
    if (strategy.shapes)
      throw badOption(
        option,
        lease,
        `strategy '${strategy.name}' of policy '${name}' paces single requests; leave it out`
      )
    if (areLimitsKnown && lease > capacity)
      throw badOption(
        option,
        lease,
        `policy '${name}' admits at most ${capacity} at once; lease a small part of that`
      )
  }
  return lease
}
