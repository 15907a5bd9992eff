import { HeadgateError } from '../../core/errors.js'
import { badOption } from '../../core/options.js'
import type { Policy } from '../../core/policy.js'
import type { LimiterTerms } from '../../remote/backend.js'

/** Tiers of more numbers than these have a key of their own. */
const mostTogether = 16

/**
 * The most numbers of a tier. What grows with its use is moved now and then, and Redis does nothing else meanwhile: this
 * many take it well under a millisecond.
 */
const mostNumbers = 2 ** 15

/** Where the numbers of a limiter's tiers are. It is fixed when the limiter is opened, whatever limits come later. */
export interface Layout {
  readonly slots: readonly number[]
  /** True for each tier that has a key of its own: of many numbers, or of as many as its limit says. */
  readonly isApart: readonly boolean[]
  /** What follows the hash tag in each key of a decision. */
  readonly suffixes: readonly string[]
}

/**
 * Lays out the tiers of a limiter under its name in the store.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for a policy whose keys could hold the server
 */
export function layoutOf({ name, policies }: LimiterTerms): Layout {
  for (const policy of policies)
    if (policy.slots > mostNumbers) throw badOption('limit', policy.limit, tooMany(policy))
  const isApart = policies.map(
    (policy) =>
      policy.slots > mostTogether ||
      policy.strategy.slots({ ...policy, limit: policy.limit + 1 }) !== policy.slots
  )
  const own = isApart.flatMap((apart, i) => (apart ? [`:${name}:${i}`] : []))
  return { slots: policies.map(({ slots }) => slots), isApart, suffixes: [`:${name}`, ...own] }
}

/** @throws HeadgateError `HEADGATE_BAD_LIMIT` for computed limits whose keys could hold the server */
export function checkLimits(policies: readonly Policy[]): void {
  for (const policy of policies)
    if (policy.slots > mostNumbers)
      throw new HeadgateError(
        'HEADGATE_BAD_LIMIT',
        `The limit function of policy '${policy.name}' returned ${policy.limit}: ${tooMany(policy)}.`
      )
}

function tooMany({ strategy, slots }: Policy): string {
  return `strategy '${strategy.name}' keeps up to ${slots} numbers for each key under it, and to move more than ${mostNumbers} would hold Redis for a millisecond or longer: take 'sliding-window' or 'gcra', whose keys are a few numbers, or a smaller limit`
}
