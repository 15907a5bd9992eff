import { clockStepSuite } from '../store-suite/clock-step-suite.js'
import { differential } from '../store-suite/differential.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { vectorSuite } from '../store-suite/vector-suite.js'
import { lockingStore } from './locking-store.js'

storeSuite('a store that locks', lockingStore)
vectorSuite('a store that locks', lockingStore)
differential('a store that locks', lockingStore, 60)
clockStepSuite('a store that locks', lockingStore)
