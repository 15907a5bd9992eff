import type { Policy } from '../../core/policy.js'

/** The policies of a request, and this process's part of them. */
export interface Shared {
  readonly policies: readonly Policy[]
  readonly shares: readonly Policy[]
}

/** What is being charged in the store, and was not yet confirmed. */
export interface Payment {
  readonly mark: string
  /** When it was made. */
  readonly at: number
  /** What the key owed then. */
  readonly owed: Numbers
  readonly shared: Shared
  /** What was charged since, laid out as the key is; null if nothing was. */
  since: Float64Array | null
  /** How often it could not be charged. */
  failures: number
}

/** Numbers of a key, those of all tiers side by side, and how many each tier has. */
export interface Numbers {
  readonly numbers: Float64Array
  readonly slots: readonly number[]
}

/** One key that was charged here. */
export interface LocalKey extends Numbers {
  numbers: Float64Array
  slots: readonly number[]
  /** Those of the request that was charged last: it owes under them. */
  shared: Shared
  payment: Payment | null
}

/** What a key takes beside its text and its numbers, bytes. */
const keyBytes = 200

/** Those of a request; where a limit of 0 or `Infinity` charged nobody, the ones before. */
export function countingOf(shared: Shared, before: Shared): Shared {
  if (shared.policies === before.policies || shared.shares.every(counts)) return shared
  return {
    policies: shared.policies.map((policy, i) => (counts(policy) ? policy : before.policies[i]!)),
    shares: shared.shares.map((policy, i) => (counts(policy) ? policy : before.shares[i]!))
  }
}

function counts({ limit }: Policy): boolean {
  return limit > 0 && limit < Number.POSITIVE_INFINITY
}

/** About how many bytes a key takes. */
export function bytesOf(key: string, { numbers }: LocalKey): number {
  return keyBytes + 2 * key.length + numbers.byteLength
}

/** Zeros for tiers of so many slots. */
export function numbersFor(slots: readonly number[]): Float64Array {
  return new Float64Array(slots.reduce((sum, count) => sum + count, 0))
}

/** The same numbers, where tiers have more slots. */
export function laidOut(
  numbers: Float64Array,
  slots: readonly number[],
  wider: readonly number[]
): Float64Array<ArrayBuffer> {
  const laid = new Float64Array(wider.reduce((sum, count) => sum + count, 0))
  let [from, to] = [0, 0]
  for (const [i, count] of slots.entries()) {
    laid.set(numbers.subarray(from, from + count), to)
    from += count
    to += wider[i]!
  }
  return laid
}
