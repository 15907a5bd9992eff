import type { Policy } from '../core/policy.js'
import type { Strategy } from '../core/strategy.js'
import bucket from './lua/bucket.lua'
import keys from './lua/keys.lua'
import main from './lua/main.lua'
import operations from './lua/operations.lua'
import pages from './lua/pages.lua'
import readOneByOne from './lua/read-one-by-one.lua'
import readTogether from './lua/read-together.lua'
import rules from './lua/rules.lua'
import tier from './lua/tier.lua'
import time from './lua/time.lua'
import { type Script, scriptOf } from './script.js'
import { called, twinOf } from './twins.js'

/** Scripts by their text: limiters that need the same one share its calls. */
const scripts = new Map<string, Script>()

/** True if Redis can decide by every policy. */
export function canDecide(policies: readonly Policy[]): boolean {
  return policies.every(({ strategy }) => twinOf(strategy) !== undefined)
}

/**
 * The script that decides by some policies, and what it calls the strategy of each. It has no other strategies, since
 * each call makes its functions anew (bench/redis.js).
 * @param hasApart whether any tier has a key of its own
 */
export function decisionScript(
  policies: readonly Policy[],
  hasApart: boolean
): { readonly script: Script; readonly names: readonly string[] } {
  const strategies = [...new Set(policies.map(({ strategy }) => strategy))]
  const nameOf = (strategy: Strategy) => String(strategies.indexOf(strategy))
  const twins = strategies.map(
    (strategy) => `strategies['${nameOf(strategy)}'] = ${called(twinOf(strategy)!)}`
  )
  const made = scriptOf([
    time,
    ...twins,
    rules,
    hasApart ? readOneByOne : readTogether,
    keys,
    ...(hasApart ? [pages] : []),
    tier,
    bucket,
    operations,
    main
  ])
  const script = scripts.get(made.text) ?? made
  scripts.set(made.text, script)
  return { script, names: policies.map(({ strategy }) => nameOf(strategy)) }
}
