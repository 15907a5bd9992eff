import { memoryStore } from '../../src/index.js'
import { clockStepSuite } from '../store-suite/clock-step-suite.js'
import { differential } from '../store-suite/differential.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { restarting } from './support/restarting.js'

const makeStore = () => restarting((from) => memoryStore({ from }))

storeSuite('memory, restarted', makeStore)
differential('memory, restarted', makeStore, 40, { stepsBack: true })
clockStepSuite('memory, restarted', makeStore)
