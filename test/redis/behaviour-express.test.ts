import { describe } from 'vitest'
import { expressFramework } from '../http/behaviour/express.js'
import { behaviour } from '../http/behaviour/suite/index.js'
import { frameworkOn } from './support/framework-on.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('over Redis', () => {
  const makeStore = makeStores(connected('node-redis 6', 'single'))
  behaviour(frameworkOn(expressFramework('express5'), (clock) => makeStore(clock) as never))
})
