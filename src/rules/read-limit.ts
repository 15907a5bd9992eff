import { commonOptions } from '../core/limiter-options.js'
import { readOptions } from '../core/options.js'
import { tierName } from '../core/policy.js'
import { type PolicyOptions, policyOptions } from '../core/policy-options.js'
import { definePolicies } from '../core/policy-or-limits.js'
import { shortHint } from '../core/warn.js'
import { httpOptions } from '../http/http-options.js'
import { keyReader } from '../http/key.js'
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
  const named = policies.map((policy) => withName(policy!))
  try {
    const defined = definePolicies(named as unknown as readonly PolicyOptions[])
    readSettings(settings, defined)
  } catch (error) {
    found.report.add(placeOf(error, [rule, ...tiers]), (error as Error).message)
    return undefined
  }
  for (const hint of idleHints(settings, named, 'the rule', (settings.cost ?? 1) === 1))
    found.warnings.add(rule.at, hint)
  return limits === undefined ? { ...settings, ...named[0] } : { ...settings, limits: named }
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
function withName(policy: LimitOptions): LimitOptions {
  return { ...policy, name: policy.name ?? tierName(policy as unknown as PolicyOptions) }
}

/** @throws HeadgateError for settings that cannot work, or not with these policies */
function readSettings(settings: LimitOptions, policies: ReturnType<typeof definePolicies>): void {
  const { cost, countOnly, aborted, statusCode } = httpOptions
  readOptions({ cost, countOnly, aborted, statusCode }, settings, {
    rules: { fixed: { policies } },
    headers: { lists: [] },
    countOnly: settings.countOnly
  })
  readOptions({ block: commonOptions.block, countDenied: commonOptions.countDenied }, settings)
  if (settings.key !== undefined) keyReader(settings.key as never, false)
}

/** Where the option stands that a message is about. */
function placeOf(error: unknown, maps: readonly MapSource[]) {
  const [, option = ''] = /^`(\w+)/.exec((error as Error).message) ?? []
  const field = maps.map(({ fields }) => fields.get(option)).find((one) => one !== undefined)
  return field?.value.at ?? maps[0]!.at
}
