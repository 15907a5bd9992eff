import type { Location } from '../executor.js'
import type { PermitId } from './permit-ids.js'

/** The permits that this process holds under one key of a limiter, as a backend gets to know them. */
export interface Holding {
  /** That of the limiter: see `LimiterTerms`. */
  readonly name: string
  readonly key: string
  /** Those that are out. They are out for `leaseMs` more; those that are gone are taken again, whatever the limit. */
  readonly held: readonly PermitId[]
  /** Those that were released, which the backend may not know yet. */
  readonly released: readonly PermitId[]
}

/** Who took permits: one limiter. */
export interface PermitOwner {
  readonly name: string
  /** True where each key is renewed by itself. */
  readonly isByKey: boolean
  locate(key: string): Location
  /**
   * Has the store renew permits on keys of one shard.
   * @returns for each that is held, in order, true if it was gone
   */
  renew(location: Location, holdings: readonly Holding[]): Promise<readonly boolean[]>
}

/** Permits that this process has out, or that the store may take for held. */
export interface HeldPermit extends PermitId {
  readonly owner: PermitOwner
  readonly key: string
  /** False until the store has been told of what was taken here. */
  isKnown: boolean
  /** True once the store may know of them. */
  mayBeKnown: boolean
  /** When their lease may have ended, on the monotonic clock; `Infinity` until the store was told of what was taken here. */
  endsAt: number
  /** Stays true: whoever has seen it may have acted on it. */
  isLost: boolean
  isReleased: boolean
  /** When one that was released is given up: its lease has ended by then. */
  until: number
}

/** Those of one key. */
export interface KeyHolding extends Holding {
  readonly held: HeldPermit[]
  readonly released: HeldPermit[]
}

/** What is told in one call. */
export interface RenewalCall {
  readonly owner: PermitOwner
  readonly location: Location
  readonly holdings: readonly KeyHolding[]
}

/** Permits that one call renews at the most: a server takes about a millisecond for them. */
const mostAtOnce = 1000

/** Puts permits together by what can be told in one call: those of one shard, or of one key. */
export function callsFor(permits: Iterable<HeldPermit>): RenewalCall[] {
  const calls: RenewalCall[] = []
  const shards = new Map<number, KeyHolding[]>()
  for (const [owner, keys] of byKey(permits))
    for (const all of keys.values()) {
      const location = owner.locate(all[0]!.key)
      const shard = location.failure === null ? location.shard : -1
      for (let at = 0; at < all.length; at += mostAtOnce) {
        const part = all.slice(at, at + mostAtOnce)
        const open = owner.isByKey ? undefined : shards.get(shard)
        if (open !== undefined && sizeOf(open) + part.length <= mostAtOnce) open.push(holdingOf(owner, part))
        else {
          const holdings = [holdingOf(owner, part)]
          if (!owner.isByKey) shards.set(shard, holdings)
          calls.push({ owner, location, holdings })
        }
      }
    }
  return calls
}

function byKey(permits: Iterable<HeldPermit>): Map<PermitOwner, Map<string, HeldPermit[]>> {
  const owners = new Map<PermitOwner, Map<string, HeldPermit[]>>()
  for (const permit of permits) {
    const { owner, key } = permit
    const keys = owners.get(owner) ?? new Map<string, HeldPermit[]>()
    owners.set(owner, keys)
    const all = keys.get(key)
    if (all === undefined) keys.set(key, [permit])
    else all.push(permit)
  }
  return owners
}

function holdingOf({ name }: PermitOwner, all: readonly HeldPermit[]): KeyHolding {
  return {
    ...{ name, key: all[0]!.key },
    held: all.filter(({ isReleased }) => !isReleased),
    released: all.filter(({ isReleased }) => isReleased)
  }
}

function sizeOf(holdings: readonly Holding[]): number {
  return holdings.reduce((sum, { held, released }) => sum + held.length + released.length, 0)
}
