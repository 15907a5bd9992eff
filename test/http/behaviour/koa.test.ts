import { koaFramework } from './koa.js'
import { behaviour } from './suite/index.js'

behaviour(koaFramework)
