import { sharedStore } from '../../src/shared/index.js'
import { differential } from '../store-suite/differential.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { vectorSuite } from '../store-suite/vector-suite.js'
import { alternating } from './support/alternating.js'

// Room for a sliding log of a thousand units.
const makeStore = () => sharedStore({ maxKeys: 200, maxBytes: 128 * 2 ** 20 })

storeSuite('shared', makeStore)
vectorSuite('shared', makeStore)
differential('shared', makeStore, 30)

const makeTwo = () => alternating(makeStore())

storeSuite('shared by two in turn', makeTwo)
vectorSuite('shared by two in turn', makeTwo)
differential('shared by two in turn', makeTwo, 30)
