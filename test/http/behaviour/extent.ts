import { describe } from 'vitest'
import { isWhole } from '../../support/extent.js'
import type { Framework } from './harness.js'

/** A framework of which the suite tries the host alone, unless the tests are run in their long form. */
export function hostOf(framework: Framework): Framework {
  return { ...framework, isHostOnly: !isWhole }
}

/** A group of cases in which the host has no part, as they come to the same on every framework. */
export function describeBeyondHost(framework: Framework, name: string, cases: () => void): void {
  if (framework.isHostOnly !== true) describe(name, cases)
}
