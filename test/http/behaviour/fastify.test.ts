import { fastifyFramework } from './fastify.js'
import { behaviour } from './suite/index.js'

behaviour(fastifyFramework)
