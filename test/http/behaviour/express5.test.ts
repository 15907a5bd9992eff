import { expressFramework } from './express.js'
import { behaviour } from './suite/index.js'

behaviour(expressFramework('express5'))
