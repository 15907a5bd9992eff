import { describe } from 'vitest'
import { hostOf } from '../http/behaviour/extent.js'
import { behaviour } from '../http/behaviour/suite/index.js'
import { nestFramework } from '../nest/framework.js'
import { frameworkOn } from './support/framework-on.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('over Redis', () => {
  const makeStore = makeStores(connected('ioredis 6', 'single'))
  behaviour(frameworkOn(hostOf(nestFramework('express')), (clock) => makeStore(clock) as never))
})
