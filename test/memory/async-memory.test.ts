import { differential } from '../store-suite/differential.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { vectorSuite } from '../store-suite/vector-suite.js'
import { asyncMemory } from '../support/async-memory.js'

storeSuite('a store outside', asyncMemory)
vectorSuite('a store outside', asyncMemory)
differential('a store outside', asyncMemory, 60, { stepsBack: true })
