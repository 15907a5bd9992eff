import { createHash } from 'node:crypto'
import type { Policy } from '../core/policy.js'
import { closed, open } from '../core/strategies/constant.js'
import type { Strategy } from '../core/strategy.js'
import { scriptOf } from './lua-script.js'
import { builtInTwins, hasTwin } from './lua-strategies.js'

/** A script, and the SHA-1 that servers know it by. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

let builtIn: Script | undefined

/** The script that knows the strategies of these policies, and how it calls each. */
export interface Program {
  readonly script: Script
  twinsOf(policies: readonly Policy[]): string[]
}

/** The program for a limiter; null where one of its strategies has no twin in Lua. */
export function programFor(policies: readonly Policy[]): Program | null {
  const users = [...new Set(policies.map(({ strategy }) => strategy).filter((own) => !hasTwin(own)))]
  if (users.some(({ lua }) => lua === undefined)) return null
  const twinOf = (strategy: Strategy) => {
    const own = users.indexOf(strategy)
    return own < 0 ? strategy.name : `user:${own}`
  }
  return { script: scriptWith(users), twinsOf: (now) => now.map(({ strategy }) => twinOf(strategy)) }
}

function scriptWith(users: readonly Strategy[]): Script {
  if (users.length > 0) {
    const twins = users.map(({ lua }, i) => `strategies['user:${i}'] = (function()\n${lua}\nend)()\n`)
    return script(scriptOf(builtInTwins + twins.join('')))
  }
  builtIn ??= script(scriptOf(builtInTwins))
  return builtIn
}

/** True for the strategies that stand for a computed limit of 0 or `Infinity`. */
export function isConstant(strategy: Strategy): boolean {
  return strategy === open || strategy === closed
}
