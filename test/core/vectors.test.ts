import { memoryStore } from '../../src/index.js'
import { vectorSuite } from '../stores/vector-suite.js'

vectorSuite('memory', () => memoryStore())
