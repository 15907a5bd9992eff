import type { Policy } from '../core/policy.js'
import type { Strategy } from '../core/strategy.js'
import { scriptOf } from './lua-script.js'
import { hasTwin, twinsOf } from './lua-strategies.js'

const { createHash } = process.getBuiltinModule('node:crypto')

/** A script, and the SHA-1 that servers know it by. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** Scripts by their text: limiters that need the same one share its calls. */
const scripts = new Map<string, Script>()

/** True where every strategy can be carried out on the server. */
export function canRun(policies: readonly Policy[]): boolean {
  return policies.every(({ strategy }) => hasTwin(strategy) || strategy.lua !== undefined)
}

/** The script for policies, with what it calls the strategy of each. */
export function scriptFor(
  policies: readonly Policy[],
  hasApart: boolean
): { readonly script: Script; readonly names: readonly string[] } {
  const strategies = new Set(policies.map(({ strategy }) => strategy))
  const users = [...strategies].filter((strategy) => !hasTwin(strategy))
  const nameOf = (strategy: Strategy) => {
    const own = users.indexOf(strategy)
    return own < 0 ? strategy.name : `user:${own}`
  }
  const own = users.map(
    (strategy) => `strategies['${nameOf(strategy)}'] = (function()\n${strategy.lua}\nend)()\n`
  )
  const text = scriptOf(twinsOf(strategies) + own.join(''), hasApart)
  const known = scripts.get(text) ?? script(text)
  scripts.set(text, known)
  return { script: known, names: policies.map(({ strategy }) => nameOf(strategy)) }
}
