import { describe } from 'vitest'
import { storeSuite } from '../store-suite/store-suite.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('on one server', () => {
  storeSuite('redis', makeStores(connected('ioredis 6', 'single')))
})

describe.skipIf(servers === null)('on a cluster', () => {
  storeSuite('redis cluster', makeStores(connected('node-redis 6', 'cluster')))
})
