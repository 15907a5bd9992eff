import type { Quota } from './quota.js'

/** One wire format of the quota fields. Instances hold caches, so make one a plan. */
export interface HeaderStyle {
  readonly name: string
  /** Canonical field names in the order of output. */
  readonly fields: readonly string[]
  /** True where its fields are Lists that name each policy, so that members of others may stand beside ours. */
  readonly hasLists?: boolean
  /** True where it writes instants. */
  readonly readsClock?: boolean
  /**
   * Writes the field values for these tiers (configuration order) into `out[at + i]`, '' where the field is
   * absent. `nowMs` is epoch ms and read where `readsClock`.
   */
  fill(tiers: readonly Quota[], nowMs: number, out: string[], at: number): void
}
