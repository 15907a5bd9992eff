import { commonOptions } from '../core/limiter-options.js'
import { readOptions } from '../core/options.js'
import { tierName } from '../core/policy-names.js'
import { type PolicyOptions, policyOptions } from '../core/policy-options.js'
import { definePolicies } from '../core/policy-or-limits.js'
import { shortHint } from '../core/warn.js'
import { costOf, httpOptions } from '../http/http-options.js'
import { keyReader } from '../http/key.js'
import { nameByKey } from '../http/limit-parts.js'
import { idleHints } from '../limiter/options.js'
import { policyNames } from './policy-table.js'
import type { Report } from './problems.js'
import { type MapSource, plain } from './source.js'

/** The options of a limiter, as they would be written in code. */
export type LimitOptions = Readonly<Record<string, unknown>>

/** What a rule says of its limit: options, null for none, or undefined where that is for others to say. */
export type ReadLimit = LimitOptions | null | undefined

/** What is found while a rule is read. */
export interface Findings {
  readonly report: Report
  /** What works, but hardly as it is meant. */
  readonly warnings: Report
}

/** A rule of which not all has its shape is looked at as far as it goes. */
export interface RuleFindings extends Findings {
  readonly isSound: boolean
}

/**
 * Reads the limit of a rule by the readers of the options that are written in code.
 * @param settings its settings, and those of the rules around it
 */
export function readLimit(rule: MapSource, settings: LimitOptions, found: RuleFindings): ReadLimit {
  const said = plain(rule) as LimitOptions
  if (!found.isSound) {
    for (const tier of [rule, ...listItems(rule)]) if (tier.kind === 'map') policyOf(tier, found, looseOnes)
    return undefined
  }
  if (said.limit === false) return null
  if (said.limit === 0)
    return { ...settings, name: said.name ?? 'default', limit: noUnits, window: said.window ?? '1s' }
  const { limits } = said
  const tiers = limits === undefined ? [rule] : listItems(rule)
  if (limits === undefined && said.limit === undefined && said.concurrency === undefined) return undefined
  const policies = tiers.map((tier) => policyOf(tier, found))
  if (policies.some((policy) => policy === null)) return undefined
  const own = limits === undefined ? [{}] : tiers.map(ownOf)
  const named = policies.map((policy, i) => withName(policy!, own[i]!))
  try {
    const defined = definePolicies(named as unknown as readonly PolicyOptions[])
    readSettings(settings, defined)
    for (const [i, { key, cost }] of own.entries()) readCharge({ key, cost }, [defined[i]!])
  } catch (error) {
    found.report.add(placeOf(error, [rule, ...tiers]), (error as Error).message)
    return undefined
  }
  for (const hint of idleHints(settings, named, 'the rule', (settings.cost ?? 1) === 1))
    found.warnings.add(rule.at, hint)
  if (limits === undefined) return { ...settings, ...named[0] }
  return { ...settings, limits: named.map((policy, i) => ({ ...policy, ...own[i] })) }
}

/** What one of `limits` may have in place of the setting of its rule. */
interface Own {
  readonly key?: unknown
  readonly cost?: unknown
  readonly shadow?: unknown
}

function ownOf(tier: MapSource): Own {
  const { key, cost, shadow } = plain(tier) as Own
  return Object.fromEntries(Object.entries({ key, cost, shadow }).filter(([, value]) => value !== undefined))
}

/** A limit of 0, as only a function gives it. */
export function noUnits(): number {
  return 0
}

function listItems(rule: MapSource): readonly MapSource[] {
  const list = rule.fields.get('limits')?.value
  return list?.kind === 'list' ? (list.items as readonly MapSource[]) : []
}

/** A policy of which each option is right by itself; null where one is not. */
function policyOf(
  tier: MapSource,
  { report, warnings }: Findings,
  names: readonly string[] = policyNames
): LimitOptions | null {
  const before = report.size
  const policy: Record<string, unknown> = {}
  for (const name of names) {
    const field = tier.fields.get(name)
    if (field === undefined) continue
    const value = plain(field.value)
    policy[name] = value
    if (name === 'window') {
      const hint = shortHint(name, value)
      if (hint !== undefined) warnings.add(field.value.at, hint)
    }
    const { read } = (policyOptions as Readonly<Record<string, { read?: (...args: never[]) => unknown }>>)[
      name
    ]!
    if (strategyOnes.includes(name)) continue
    try {
      read?.(name as never, value as never)
    } catch (error) {
      // What has not even its shape was told of before.
      if (!report.has(field.value.at)) report.add(field.value.at, (error as Error).message)
    }
  }
  return report.size === before ? policy : null
}

/** Of these not every text that has the shape is one: their readers know. */
const looseOnes = ['window', 'strategy', 'maxWait']

/** Read with their strategy, when all of the policy is there. */
const strategyOnes = ['burst', 'align', 'delayAfter']

/**
 * Policies that have names count by what their rule says in a store, wherever they are made. Those without one are called
 * after what they allow.
 */
function withName(policy: LimitOptions, { key }: Own): LimitOptions {
  const name = policy.name ?? nameByKey(tierName(policy as unknown as PolicyOptions), key)
  return { ...policy, name }
}

/** @throws HeadgateError for settings that cannot work, or not with these policies */
function readSettings(settings: LimitOptions, policies: ReturnType<typeof definePolicies>): void {
  const { countOnly, aborted, statusCode } = httpOptions
  readOptions({ countOnly, aborted, statusCode }, settings, {
    rules: { policies },
    headers: { lists: [] },
    countOnly: settings.countOnly
  })
  const { block, ban, countDenied } = commonOptions
  readOptions({ block, ban, countDenied }, settings)
  readCharge(settings, policies)
}

/** @throws HeadgateError for a key that is none, or a cost that is never admitted */
function readCharge({ key, cost }: Own, policies: ReturnType<typeof definePolicies>): void {
  if (key !== undefined) keyReader(key as never, false)
  if (cost !== undefined) costOf('cost', cost, { rules: { policies } })
}

/** Where the option stands that a message is about. */
function placeOf(error: unknown, maps: readonly MapSource[]) {
  const [, option = ''] = /^`(\w+)/.exec((error as Error).message) ?? []
  const field = maps.map(({ fields }) => fields.get(option)).find((one) => one !== undefined)
  return field?.value.at ?? maps[0]!.at
}
