import type { AsyncBuckets, AsyncStore } from '../async-store.js'
import { badOption } from '../options.js'
import { type Policy, ruleOf } from '../policy.js'
import type { Buckets, BucketsOptions, Owner, Store } from '../store.js'
import { banPolicy } from './ban-record.js'
import type { BanTerms } from './ban-terms.js'
import { AsyncBans, Bans } from './bans.js'

/** Whose denials are to be remembered. */
export interface Banning {
  readonly policies: readonly Policy[]
  readonly named: boolean
  readonly owner: Owner
  /** null where nobody is banned. */
  readonly ban: BanTerms | null
}

/** @throws HeadgateError for a ban beside a block, which each denial would be answered by already */
export function checkBeside({ ban, blockMs }: Banning & { readonly blockMs: number }): void {
  if (ban !== null && blockMs > 0)
    throw badOption(
      'block',
      blockMs,
      'each denial blocks its key by it, so none would count towards `ban`: leave one of them out, or write `ban: { after: 1, for }`'
    )
}

/** Opens what bans the keys of a limiter in its store; null where nobody is banned. */
export function openBans(store: Store, asked: Banning, buckets: Buckets): Bans | null {
  const options = recordsOf(asked)
  if (options === null) return null
  return new Bans({ policies: options.policies, records: store.open(options), buckets })
}

/** The same in a store outside the process. */
export function openAsyncBans(store: AsyncStore, asked: Banning, buckets: AsyncBuckets): AsyncBans | null {
  const options = recordsOf(asked)
  if (options === null) return null
  // What another process does not hear of is no denial that counts.
  const settings = { onStoreError: 'allow' }
  const records = store.openAsync({ ...options, countDenied: false, blockMs: 0, settings })
  return new AsyncBans({ policies: options.policies, records, buckets })
}

/**
 * What counts denials is a limiter of its own beside the one that denies, with the same owner: so those that count together
 * ban together, in all threads and processes, and others do not.
 */
function recordsOf({
  policies,
  named,
  owner,
  ban
}: Banning): (BucketsOptions & { readonly owner: Owner }) | null {
  if (ban === null) return null
  const names = policies.map(({ name }) => name).join('+')
  // Limiters without names are told apart by their rules.
  const name = named ? `${names} bans` : `${names} bans ${JSON.stringify(policies.map(ruleOf))}`
  return { policies: [banPolicy(name, ban)], named, owner }
}
