/** The instant of charges that are to be given back whenever they were made. */
export const whenever = Number.POSITIVE_INFINITY

/** How long ago units were charged, ms; `-Infinity` for units whenever they were. */
export function chargedAgo(now: number, chargedAt: number): number {
  return chargedAt === whenever ? Number.NEGATIVE_INFINITY : Math.max(0, now - chargedAt)
}
