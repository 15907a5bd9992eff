import { badOption } from '../core/options.js'
import { countsInFlight, windowsOf } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import { bucketsFor, type TableShape, tableUnits } from './chain-table.js'
import { aligned, line } from './memory.js'
import { permitUnits } from './permits.js'
import { blockUnits } from './shared-blocks.js'

/** The most numbers that a key may have: all of them are copied for each decision. */
const mostNumbers = 1024

/** The limit that a strategy whose slots grow with it has room for at least, where limits are computed. */
const roomFor = 32

/** The part of the buffer that one limiter's counters take, in units of 8 bytes. */
export interface Region {
  readonly units: number
  /** Where the words of each tier begin: its time, and the lowest limit. */
  readonly tiers: number
  readonly tierUnits: number
  readonly table: number
  readonly blocks: number
  /** Where the permits begin that are out; -1 where nothing is counted in flight. */
  readonly permits: number
  readonly maxKeys: number
  readonly shape: TableShape
  /** How many numbers of a record each policy with a window has. */
  readonly slots: readonly number[]
}

/**
 * Lays out the region of a limiter; the same policies have the same in every thread.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for a strategy that needs too many slots per key
 */
export function regionOf(policies: readonly Policy[], maxKeys: number, begin: number): Region {
  const windows = windowsOf(policies)
  const slots = windows.map(slotsOf)
  const numbers = slots.reduce((sum, count) => sum + count, 0)
  if (numbers > mostNumbers) throw tooLarge(policies, numbers)
  const hasPermits = policies.some(countsInFlight)
  // Nothing is ever written to the table where no policy has a window.
  const keys = policies.every(countsInFlight) ? 1 : maxKeys
  const shape = { maxKeys: keys, slots: numbers, buckets: bucketsFor(keys, 1), hasOverflow: true }
  const table = begin + windows.length * line
  const blocks = table + aligned(tableUnits(shape))
  const end = blocks + aligned(blockUnits(maxKeys))
  const units = end + (hasPermits ? aligned(permitUnits(maxKeys)) : 0) - begin
  const permits = hasPermits ? end : -1
  return { units, tiers: begin, tierUnits: line, table, blocks, permits, maxKeys, shape, slots }
}

function slotsOf({ strategy, slots, ...rule }: Policy): number {
  return Math.max(
    slots,
    growsWithLimit({ strategy, slots, ...rule }) ? strategy.slots({ ...rule, limit: roomFor }) : 0
  )
}

function growsWithLimit(policy: Policy): boolean {
  return policy.strategy.slots({ ...policy, limit: policy.limit + 1 }) !== policy.slots
}

function tooLarge(policies: readonly Policy[], slots: number): Error {
  const { strategy, limit } = policies.find(growsWithLimit) ?? policies[0]!
  return badOption(
    'limit',
    limit,
    `strategy '${strategy.name}' keeps up to ${slots} numbers for each key under it, and the shared store copies at most ${mostNumbers} in a decision: take 'sliding-window' or 'gcra', whose keys are a few numbers, or a smaller limit`
  )
}
