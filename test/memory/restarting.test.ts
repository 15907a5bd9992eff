import { memoryStore } from '../../src/index.js'
import { differential } from '../store-suite/differential.js'
import { crowdStepSuite, crowdSuite } from '../store-suite/overflow-suite.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { restarting } from './support/restarting.js'

const storeOf = (maxKeys?: number) => restarting((from) => memoryStore({ from, maxKeys }))

storeSuite('memory, restarted', () => storeOf())
differential('memory, restarted', () => storeOf(), 40, { stepsBack: true })
crowdSuite('memory, restarted', storeOf, 40)
crowdStepSuite('memory, restarted', storeOf, 20)
