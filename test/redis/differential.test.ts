import { describe } from 'vitest'
import { differential } from '../store-suite/differential.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('the same as in memory', () => {
  differential('redis', makeStores(connected('ioredis 6', 'single')), 30)
})
