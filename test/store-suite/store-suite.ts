import type { MakeStore } from './clocked-store.js'
import { banCases } from './suite/bans.js'
import { calendarCases } from './suite/calendar.js'
import { countingCases } from './suite/counting.js'
import { slowingCases } from './suite/slowing-down.js'
import { stateCases } from './suite/state.js'
import { togetherCases } from './suite/together.js'
import { windowCases } from './suite/windows.js'

/** The cases that every store passes, in the process or outside of it. */
export function storeSuite(name: string, makeStore: MakeStore): void {
  countingCases(name, makeStore)
  windowCases(name, makeStore)
  calendarCases(name, makeStore)
  stateCases(name, makeStore)
  togetherCases(name, makeStore)
  slowingCases(name, makeStore)
  banCases(name, makeStore)
}
