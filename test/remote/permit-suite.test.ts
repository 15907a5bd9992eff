import { permitSuite } from '../store-suite/permit-suite.js'
import { lockingStore } from './locking-store.js'

permitSuite('a store that locks', lockingStore)
