import type { Policy } from '../policy.js'
import { warnOnce } from '../warn.js'

/** Says once a process that what is counted for longer than a day is lost when the process ends. */
export function warnOfLostCounters(policies: readonly Policy[]): void {
  if (policies.every(({ calendar }) => calendar === null || calendar.unit === 'day')) return
  warnOnce(
    'HEADGATE_LOST_AT_RESTART',
    'A limit for a week, month or year of the calendar is counted in the memory of this process: each restart gives everybody ' +
      'the whole quota again. Give `store: redisStore(client)`; or save the store, `writeFileSync(file, store.save())`, and ' +
      'restore it, `memoryStore({ from })`.'
  )
}
