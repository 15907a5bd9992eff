import { describe } from 'vitest'
import { clockStepSuite } from '../store-suite/clock-step-suite.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('on a server', () => {
  clockStepSuite('redis', makeStores(connected('ioredis 6', 'single')))
})
