import { badOption } from './options.js'

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but true, false or undefined */
export function flag(option: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw badOption(option, value, 'give true or false')
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but a whole number of at least `least` */
export function wholeNumber(option: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw badOption(option, value, fixFor(option, value, least))
}

function fixFor(option: string, value: unknown, least: number): string {
  if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)))
    return `write it as a number, ${Number(value)}, not as a text`
  if (option === 'limit' && value === 0)
    return 'to deny everybody return 0 from a limit function; to switch the limiter off leave it out, or use `skip`'
  if (option === 'limit' && value === Number.POSITIVE_INFINITY)
    return 'a limiter without a limit protects nothing; leave it out, or use `skip`'
  return `give a whole number of at least ${least}`
}

/** Reads one of several words, or undefined; `fix` names them. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  fix: string
): (option: string, value: unknown) => Word | undefined {
  return (option, value) => {
    if (value === undefined || words.includes(value as Word)) return value as Word | undefined
    throw badOption(option, value, fix)
  }
}
