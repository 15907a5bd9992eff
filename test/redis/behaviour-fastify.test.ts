import { describe } from 'vitest'
import { hostOf } from '../http/behaviour/extent.js'
import { fastifyFramework } from '../http/behaviour/fastify.js'
import { behaviour } from '../http/behaviour/suite/index.js'
import { frameworkOn } from './support/framework-on.js'
import { connected, makeStores, servers } from './support/stores.js'

describe.skipIf(servers === null)('over Redis', () => {
  const makeStore = makeStores(connected('ioredis 6', 'single'))
  behaviour(frameworkOn(hostOf(fastifyFramework), (clock) => makeStore(clock) as never))
})
