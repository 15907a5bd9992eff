/** Largest structured-field Integer, RFC 9651 §3.3.1. */
export const MAX_INTEGER = 999_999_999_999_999

/** Quota units as a structured-field Integer: floored, at least 0, clamped to 15 digits (H2, H3). */
export function integer(units: number): number {
  if (units >= MAX_INTEGER) return MAX_INTEGER
  return units >= 1 ? Math.floor(units) : 0
}

/** Whole seconds that cover `ms`, rounded up, at least 0 (H1); -1 when infinite, unknown or above 15 digits. */
export function seconds(ms: number): number {
  if (ms <= 0) return 0
  // whole ms first: their quotient is exact enough to round up right over the whole safe range
  const up = Math.ceil(Math.ceil(ms) / 1000)
  return up <= MAX_INTEGER ? up : -1
}

/** The `w` parameter in seconds, at least 1 (H1); 0 when there is no window that could be stated. */
export function windowSeconds(windowMs: number | null): number {
  if (windowMs === null) return 0
  const up = seconds(windowMs)
  return up === 0 ? 1 : Math.max(up, 0)
}
