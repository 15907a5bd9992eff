import { behaviour } from '../../http/behaviour/suite/index.js'
import { nestFramework } from '../framework.js'

behaviour(nestFramework('express'))
