import type { MakeStore } from './clocked-store.js'
import { banCases } from './suite/bans.js'
import { countingCases } from './suite/counting.js'
import { stateCases } from './suite/state.js'
import { windowCases } from './suite/windows.js'

/** The cases that every store passes, in the process or outside of it. */
export function storeSuite(name: string, makeStore: MakeStore): void {
  countingCases(name, makeStore)
  windowCases(name, makeStore)
  stateCases(name, makeStore)
  banCases(name, makeStore)
}
