import { memoryStore } from '../../src/index.js'
import { vectorSuite } from '../store-suite/vector-suite.js'

vectorSuite('memory', () => memoryStore())
