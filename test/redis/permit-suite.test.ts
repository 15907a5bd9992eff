import { describe } from 'vitest'
import { permitSuite } from '../store-suite/permit-suite.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('on one server', () => {
  permitSuite('redis', makeStores(connected('ioredis 6', 'single')))
})

describe.skipIf(servers === null)('on a cluster', () => {
  permitSuite('redis cluster', makeStores(connected('node-redis 6', 'cluster')))
})
