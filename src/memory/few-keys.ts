import type { Policy } from '../core/policy.js'
import { warnOnce } from '../core/warn.js'

/** Fewer keys than these are worth a word: a table has room for a million, if they are short. */
const few = 100_000

interface Room {
  /** True if the user has said how many keys there are to be. */
  readonly isBounded: boolean
  /** How many there is room for where each takes all that it may. */
  readonly leastKeys: number
}

/** Says once that a limiter has room for far fewer keys than others by default, as they may take many numbers each. */
export function warnOfFewKeys(policies: readonly Policy[], { isBounded, leastKeys }: Room): void {
  if (isBounded || leastKeys >= few) return
  const { name, limit, slots, strategy } = policies.reduce((most, policy) =>
    policy.slots > most.slots ? policy : most
  )
  const isLater = strategy.growth !== undefined
  warnOnce(
    'HEADGATE_FEW_KEYS',
    `A key of policy '${name}' may take ${slots} numbers ('${strategy.name}', limit ${limit}), so the 256 MiB that a limiter may ` +
      `take by default hold ${leastKeys} keys${isLater ? ' that have used all of them, and more that have not' : ''}; beyond that keys are ` +
      'judged too strictly. Give `store: memoryStore({ maxKeys })` to say how many are to have room, or take ' +
      "'sliding-window' or 'gcra', whose keys are a few numbers."
  )
}
