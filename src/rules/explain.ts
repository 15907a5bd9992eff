import { isCalendarUnit } from '../core/calendar/calendar-options.js'
import { durationMs } from '../core/duration.js'
import type { Condition } from './conditions.js'
import { durationWords } from './durations.js'
import { type LimitOptions, noUnits } from './read-limit.js'
import type { TableRule } from './rule-table.js'

/** A rule in one sentence: `POST /login, for each address: 5 requests in 15 minutes (sliding-log), then 429.` */
export function explain({ conditions, options }: TableRule): string {
  const who = requestsOf(conditions)
  if (options === null) return `${who}: not limited.`
  const said = options as LimitOptions
  const status = said.statusCode ?? 429
  const end = said.shadow === true ? 'then it is noted, and nobody is denied' : `then ${status}`
  if (said.limit === noUnits)
    return `${who}: always ${said.shadow === true ? 'noted, and nobody is denied' : status}.`
  const tiers = said.limits as readonly LimitOptions[] | undefined
  const cost = (said.cost as number | undefined) ?? 1
  const amounts = tiers?.map((tier) => tierWords(tier, cost)).join(', and ') ?? amountOf(said, cost === 1)
  const each = cost === 1 ? '' : `, ${cost} for each request`
  return `${who}, ${keyWords(said.key)}: ${amounts}${countedBy(said)}${each}, ${end}${banWords(said)}.`
}

/** One of several policies, with what it has of its own. */
function tierWords(policy: LimitOptions, usual: number): string {
  const { key, cost = usual, shadow } = policy
  const own = [
    ...(key === undefined ? [] : [` ${keyWords(key)}`]),
    ...(cost === usual ? [] : [`, ${cost} for each request`]),
    ...(shadow === true ? [' (only watched)'] : [])
  ]
  return `${amountOf(policy, cost === 1)}${own.join('')}`
}

function banWords({ ban }: LimitOptions): string {
  if (ban === undefined) return ''
  const { after, for: first } = ban as { readonly after: number; readonly for: number | string }
  return `; a ban of ${durationWords(durationMs('for', first))} after ${counted(after, 'denial')}`
}

function requestsOf(conditions: readonly Condition[]): string {
  const methods = conditions.flatMap((one) => (one.kind === 'method' ? [words([...one.values])] : []))
  const places = conditions.flatMap((one) => {
    if (one.kind === 'path') return [words(one.patterns.map(({ written }) => written))]
    return one.kind === 'route' ? [`the route ${words([...one.values])}`] : []
  })
  const others = conditions.flatMap(otherWords)
  const what = [methods.join(' and '), places.join(', within ')].filter((part) => part !== '').join(' ')
  return [what === '' ? 'Every request' : what, ...others].join(' ')
}

function otherWords(condition: Condition): readonly string[] {
  if (condition.kind === 'header') {
    const { name, values } = condition
    if (typeof values === 'boolean') return [`${values ? 'with' : 'without'} ${name}`]
    return [`with ${name} ${words([...values])}`]
  }
  if (condition.kind === 'user') {
    const { values } = condition
    if (typeof values === 'boolean') return [values ? 'of a user' : 'of nobody who is logged in']
    return [`of user ${words([...values])}`]
  }
  return condition.kind === 'address' ? [`from ${words([...condition.values])}`] : []
}

function amountOf(policy: LimitOptions, areRequests: boolean): string {
  const unit = areRequests ? 'request' : 'unit'
  const { concurrency, limit, strategy, burst, delay, window } = policy
  if (concurrency !== undefined) {
    const wait = policy.queue === undefined ? '' : ` (${policy.queue} may wait)`
    if (typeof concurrency === 'object')
      return `as many ${unit}s in flight as the server does well with${wait}`
    return `${counted(concurrency as number, unit)} in flight${wait}`
  }
  const details = [
    ...(strategy === undefined ? [] : [String(strategy)]),
    ...(burst === undefined ? [] : [`burst ${burst}`]),
    ...(delay === undefined ? [] : [delayWords(delay as { after?: number; step: number | string })])
  ]
  const how = details.length === 0 ? '' : ` (${details.join(', ')})`
  return `${counted(limit as number, unit)} ${windowWords(window, policy)}${how}`
}

function windowWords(window: unknown, { timeZone, startsOn }: LimitOptions): string {
  if (!isCalendarUnit(window)) return `in ${durationWords(durationMs('window', window))}`
  const begins =
    startsOn === undefined ? '' : `, from ${typeof startsOn === 'number' ? `day ${startsOn}` : startsOn} on`
  return `each ${window} of the calendar${begins}${timeZone === undefined ? '' : ` in ${timeZone}`}`
}

function delayWords({
  after = 1,
  step
}: {
  readonly after?: number
  readonly step: number | string
}): string {
  return `each beyond ${after} held ${durationWords(durationMs('step', step))} longer`
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const keyNames: Readonly<Record<string, string>> = {
  ip: 'address',
  user: 'user',
  method: 'method',
  path: 'path',
  route: 'route'
}

function keyWords(key: unknown): string {
  const parts = (Array.isArray(key) ? key : [key ?? 'ip']) as readonly string[]
  const names = parts.map((part) => keyNames[part] ?? `value of ${part.slice('header:'.length).trim()}`)
  return `for each ${words(names, 'and')}`
}

function countedBy({ countOnly }: LimitOptions): string {
  return countOnly === undefined ? '' : `, ${countOnly} alone`
}

/** `a, b or c`. */
function words(list: readonly string[], last = 'or'): string {
  if (list.length < 2) return list.join('')
  return `${list.slice(0, -1).join(', ')} ${last} ${list.at(-1)}`
}
