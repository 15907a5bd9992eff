import { hostOf } from '../../http/behaviour/extent.js'
import { behaviour } from '../../http/behaviour/suite/index.js'
import { nestFramework } from '../framework.js'

const framework = nestFramework('fastify')
behaviour(process.env.IS_EARLIER_NEST === '1' ? hostOf(framework) : framework)
