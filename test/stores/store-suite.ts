import { countingCases } from './suite/counting.js'
import type { MakeStore } from './suite/limiter-on.js'
import { stateCases } from './suite/state.js'
import { windowCases } from './suite/windows.js'

/** The cases that every store passes. `makeStore` gives an empty store each time. */
export function storeSuite(name: string, makeStore: MakeStore): void {
  countingCases(name, makeStore)
  windowCases(name, makeStore)
  stateCases(name, makeStore)
}
