import { sharedStore } from '../../src/shared/index.js'
import { restarting } from '../memory/support/restarting.js'
import { differential } from '../store-suite/differential.js'
import { calendarCases } from '../store-suite/suite/calendar.js'
import { countingCases } from '../store-suite/suite/counting.js'
import { stateCases } from '../store-suite/suite/state.js'

const storeOf = () =>
  restarting((from) => (from === undefined ? sharedStore({ maxKeys: 200 }) : sharedStore({ from })))

// Each thread has its own view of a clock that steps back, and it ends with the thread.
countingCases('shared, restarted', storeOf)
stateCases('shared, restarted', storeOf)
calendarCases('shared, restarted', storeOf)
differential('shared, restarted', storeOf, 15)
