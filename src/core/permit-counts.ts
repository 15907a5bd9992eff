/**
 * How many permits of each key are out: taken, and not released yet. They are exact, and bounded by what is in flight, so
 * they are kept apart from buckets, which may be forgotten and estimated.
 */
export interface PermitCounts {
  /** How many were out before the last `take`, of its key. */
  readonly before: number
  /** How many of a key are out. */
  count(key: string): number
  /**
   * Takes permits if no more than `limit` of the key are out then, in one step.
   * @returns what they are known by, at least 1; 0 if there are too few
   */
  take(key: string, cost: number, limit: number): number
  /** Gives back permits that were taken. */
  release(key: string, permit: number, cost: number): void
  /** How many keys have any out. */
  size(): number
}
