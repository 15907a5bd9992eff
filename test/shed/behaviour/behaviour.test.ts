import { describe } from 'vitest'
import { frameworks } from './frameworks.js'
import { shedding } from './suite.js'

describe.each(frameworks.map((framework) => [framework.name, framework] as const))(
  'shedding on %s',
  (_name, framework) => {
    shedding(framework)
  }
)
