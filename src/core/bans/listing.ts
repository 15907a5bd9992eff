import { HeadgateError } from '../errors.js'
import { badOption, checkNames, readOptions, type TableOf } from '../options.js'
import { wholeNumber } from '../readers.js'
import type { BlockPage, BlocksFound } from '../store.js'

/** Which part of the list of banned keys is asked for. */
export interface BansOptions {
  /** The `next` of the page before; the first page if left out. */
  readonly after?: string | null | undefined
  /** How many keys a page has: 1 to 10 000; 100 if left out. */
  readonly limit?: number | undefined
}

/** A key that is banned, or blocked by hand. */
export interface Ban {
  /** The key; where the store keeps a long one as a hash, that: `#` and 43 characters. */
  readonly key: string
  /** For how long it is denied yet, ms; `Infinity` until `reset`. */
  readonly remainingMs: number
}

/** A page of the list of banned keys. */
export interface BansPage {
  readonly bans: readonly Ban[]
  /** What the next page is asked for by; null after the last. */
  readonly next: string | null
}

const mostBans = 10_000

const bansOptions = {
  after: { read: afterOf, isRequired: true },
  limit: {
    read: (option: string, value: unknown) => {
      const limit = wholeNumber(option, value ?? 100, 1)
      if (limit <= mostBans) return limit
      throw badOption(option, value, `a page has at most ${mostBans} keys; ask for the next one by \`after\``)
    }
  }
} as const satisfies TableOf<BansOptions>

function afterOf(option: string, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  throw badOption(option, value, 'give the `next` of the page before')
}

/**
 * Reads which page is asked for.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function readPage(options: BansOptions): BlockPage {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, 'give { after, limit }, or nothing')
  checkNames(options, bansOptions, '`bans`')
  return readOptions(bansOptions, options)
}

/** The page that a store has found. */
export function bansOf({ blocks: bans, next }: BlocksFound): BansPage {
  return { bans, next }
}

/** The error for a store that knows no list of what it blocks. */
export function cannotList(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MISUSE',
    'The store cannot list what it blocks: its buckets have no `blocks`. `peek(key)` tells of one key.'
  )
}
