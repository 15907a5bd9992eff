import { HeadgateError } from './errors.js'
import { badOption, shown } from './options.js'

/** A key: text, or a number taken as its text. */
export type Key = string | number

/** @throws HeadgateError `HEADGATE_BAD_KEY` for what is neither a non-empty text nor a number */
export function keyText(key: unknown): string {
  return typeof key === 'string' && key !== '' ? key : numberText(key)
}

function numberText(key: unknown): string {
  if (typeof key === 'number' && Number.isFinite(key)) return String(key)
  throw new HeadgateError('HEADGATE_BAD_KEY', `A key is ${shown(key)}: give a non-empty text, or a number.`)
}

/** @throws HeadgateError `HEADGATE_BAD_COST` for anything but a whole number of at least 0 */
export function checkCost(cost: unknown): number {
  return Number.isSafeInteger(cost) && (cost as number) >= 0 ? (cost as number) : refuseCost(cost)
}

function refuseCost(cost: unknown): never {
  throw new HeadgateError(
    'HEADGATE_BAD_COST',
    `A cost, or what the cost function returned, is ${shown(cost)}: it must be a whole number of at least 0.`
  )
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for an instant that is none */
export function checkInstant(chargedAt: number | undefined): void {
  if (chargedAt !== undefined && !Number.isFinite(chargedAt))
    throw badOption('chargedAt', chargedAt, "give the instant of the charge, ms on the limiter's clock")
}
