import { expressFramework } from './express.js'
import { hostOf } from './extent.js'
import { behaviour } from './suite/index.js'

behaviour(hostOf(expressFramework('express4')))
