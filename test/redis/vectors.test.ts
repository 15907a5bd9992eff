import { describe } from 'vitest'
import { vectorSuite } from '../store-suite/vector-suite.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('on one server', () => {
  vectorSuite('redis', makeStores(connected('node-redis 6', 'single')))
})

describe.skipIf(servers === null)('on a cluster', () => {
  vectorSuite('redis cluster', makeStores(connected('ioredis 6', 'cluster')))
})
