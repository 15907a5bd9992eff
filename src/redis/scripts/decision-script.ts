import type { Policy } from '../../core/policy.js'
import bucket from '../lua/bucket.lua'
import buckets from '../lua/buckets.lua'
import givenRules from '../lua/given-rules.lua'
import joint from '../lua/joint.lua'
import keys from '../lua/keys.lua'
import main from '../lua/main.lua'
import operations from '../lua/operations.lua'
import pages from '../lua/pages.lua'
import permitSets from '../lua/permit-sets.lua'
import permits from '../lua/permits.lua'
import readOneByOne from '../lua/read-one-by-one.lua'
import readTogether from '../lua/read-together.lua'
import replied from '../lua/replied.lua'
import tier from '../lua/tier.lua'
import { noPlainTakes, plainTakes } from './plain-takes.js'
import { luaRules, type RuleParts } from './rules.js'
import { type Script, scriptOf, type TimeSource } from './script.js'
import type { StrategyNames } from './strategy-names.js'
import { twinOf } from './twins.js'

/** True if Redis can decide by every policy. */
export function canDecide(policies: readonly Policy[]): boolean {
  return policies.every(({ strategy }) => twinOf(strategy) !== undefined)
}

/**
 * The script that decides by some rules alone, which are written into it: most calls are plain takes, and need nothing
 * else (bench/redis.js).
 */
export function ownScript(time: TimeSource, parts: RuleParts, names: StrategyNames): Script {
  const rules = `local begin, buckets = 2, { ${luaRules(parts, names)} }\n`
  return assembled(time, parts, names, [plainTakes(parts, names), rules])
}

/** The script that takes its rules as arguments, for limits that are too many to have scripts of their own. */
export function sharedScript(time: TimeSource, parts: RuleParts, names: StrategyNames): Script {
  return assembled(time, parts, names, [noPlainTakes, givenRules])
}

/** The script of limiters that count what is in flight beside these rules, which it takes as arguments. */
export function permitScript(time: TimeSource, parts: RuleParts, names: StrategyNames): Script {
  return assembled(time, parts, names, [noPlainTakes, givenRules], [permitSets, permits])
}

/** The script that decides by rules of several limiters together. */
export function jointScript(time: TimeSource, all: readonly RuleParts[], names: StrategyNames): Script {
  const apart = all.find(({ layout }) => layout.isApart.includes(true))
  return assembled(time, apart ?? all[0]!, names, [noPlainTakes, givenRules], [joint])
}

function assembled(
  time: TimeSource,
  { layout }: Pick<RuleParts, 'layout'>,
  names: StrategyNames,
  begin: readonly string[],
  end: readonly string[] = [main]
): Script {
  const hasApart = layout.isApart.includes(true)
  const how = hasApart ? readOneByOne : readTogether
  const own = [replied, ...names.lua, ...begin]
  const rest = [buckets, how, keys, ...(hasApart ? [pages] : []), tier, bucket, operations, ...end]
  return scriptOf(time, [...own, ...rest], names.hasForeign)
}
