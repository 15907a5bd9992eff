import { badOption } from './options.js'

/**
 * ⌈a / b⌉ of whole numbers up to `Number.MAX_SAFE_INTEGER`, exactly: a quotient that was rounded is put right
 * by the remainder, which is exact.
 */
export function divideUp(a: number, b: number): number {
  const quotient = Math.floor(a / b)
  const rest = a - quotient * b
  return rest > 0 ? quotient + 1 : rest + b > 0 ? quotient : quotient - 1
}

/** ⌊a / b⌋ of whole numbers up to `Number.MAX_SAFE_INTEGER`, exactly. */
export function divideDown(a: number, b: number): number {
  const quotient = Math.floor(a / b)
  const rest = a - quotient * b
  return rest < 0 ? quotient - 1 : rest >= b ? quotient + 1 : quotient
}

/** Refuses a rule whose arithmetic would leave the whole numbers that a double holds exactly. */
export function checkProduct(option: string, units: number, windowMs: number): void {
  if (units * windowMs <= Number.MAX_SAFE_INTEGER) return
  throw badOption(
    option,
    units,
    `times a window of ${windowMs} ms it passes 2^53; choose a smaller one of the two`
  )
}
