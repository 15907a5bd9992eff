import { asyncMemory } from '../support/async-memory.js'
import { differential } from './differential.js'
import { storeSuite } from './store-suite.js'
import { vectorSuite } from './vector-suite.js'

storeSuite('a store outside', asyncMemory)
vectorSuite('a store outside', asyncMemory)
differential('a store outside', asyncMemory, 60, { stepsBack: true })
