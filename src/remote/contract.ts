import { HeadgateError } from '../core/errors.js'
import { badOption, shown } from '../core/options.js'
import { countsInFlight } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'
import type { Answer, Backend, Locking, Operating, Request, Rules, Swapped, Swapping } from './backend.js'
import { Breach } from './failure.js'
import { isDecided } from './operation.js'
import type { Holding } from './permits/holdings.js'

/** @throws HeadgateError that names what a backend lacks */
export function checkBackend(backend: Backend): void {
  if (typeof backend !== 'object' || backend === null)
    throw badOption('backend', backend, 'give an object { name, shardOf, nodeOf, open }')
  const { name } = backend
  if (typeof name !== 'string' || name === '')
    throw badOption('backend.name', name, 'give the text that error messages call the database')
  for (const method of ['shardOf', 'nodeOf', 'open'] as const)
    if (typeof backend[method] !== 'function')
      throw badOption(`backend.${method}`, backend[method], 'give a function')
  for (const method of ['nodes', 'isOutage', 'clear', 'blocks', 'close', 'renew'] as const)
    if (backend[method] !== undefined && typeof backend[method] !== 'function')
      throw badOption(`backend.${method}`, backend[method], 'give a function, or leave it out')
}

/** @throws HeadgateError for anything but one of the three forms */
export function checkForm(opened: Operating | Locking | Swapping): void {
  if (typeof opened === 'object' && opened !== null)
    for (const method of ['rulesFor', 'update', 'swap'])
      if (typeof (opened as unknown as Record<string, unknown>)[method] === 'function') return
  const what = typeof (opened as Partial<Promise<unknown>> | null)?.then === 'function' ? 'a promise' : null
  const fix = 'return an object with a function `rulesFor`, `update` or `swap`'
  throw badOption('what `backend.open` returns', opened, what === null ? fix : `it is ${what}; ${fix}`)
}

/** The rules that a backend made for other limits. */
export function checkedRules(rules: Rules): Rules {
  return rulesOr(rules, (what, value, fix) => new Breach(`\`${what}\` is ${shown(value)}: ${fix}`))
}

/** @throws HeadgateError for what are no rules */
export function openedRules(rules: Rules): Rules {
  return rulesOr(rules, badOption)
}

function rulesOr(rules: Rules, refusal: (what: string, value: unknown, fix: string) => Error): Rules {
  const { policies, runner } = Object(rules) as Partial<Rules>
  const { run, most } = Object(runner) as Partial<Rules['runner']>
  if (!Array.isArray(policies)) throw refusal('rules.policies', policies, 'give the policies of `rulesFor`')
  if (typeof run !== 'function') throw refusal('rules.runner.run', run, 'give a function')
  if (!Number.isSafeInteger(most) || most! < 1)
    throw refusal('rules.runner.most', most, 'give a whole number of at least 1')
  return rules
}

/** The promise that a method of a backend returned. */
export function promised<T>(method: string, value: PromiseLike<T>): PromiseLike<T> {
  if (typeof (value as PromiseLike<T> | null | undefined)?.then === 'function') return value
  throw new Breach(`\`${method}\` returned ${shown(value)}: it must return a promise`)
}

/** What `shardOf` answered. */
export function checkedShard(shard: unknown): number {
  if (typeof shard === 'number' && !Number.isNaN(shard)) return shard
  throw new Breach(`\`shardOf\` returned ${shown(shard)}: it must return a number`)
}

/** What `nodeOf` answered. */
export function checkedLabel(label: unknown): string {
  if (typeof label === 'string') return label
  throw new Breach(`\`nodeOf\` returned ${shown(label)}: it must return a text`)
}

/** A time that a backend told, in whole ms. What is no time would switch limits off. */
export function instantOf(what: string, now: unknown): number {
  const instant = typeof now === 'number' && now >= 0 ? Math.floor(now) : Number.NaN
  if (Number.isSafeInteger(instant)) return instant
  const given = now instanceof Date ? 'a Date' : shown(now)
  throw new Breach(`${what} is ${given}: give ms since the epoch, as a number (\`Number(…)\` of a text)`)
}

/** What a key holds, as a backend read it. */
export function stateText(text: unknown): string {
  if (typeof text === 'string') return text
  throw new Breach(
    `the state of a key is ${shown(text)}: give the text that was written, or '' if there is none`
  )
}

/** The answer of `swap`; of what is done nothing else is used. */
export function checkedSwap(swapped: Swapped, isWritten: boolean): Swapped {
  const { isDone, text, now } = Object(swapped) as Partial<Swapped>
  if (isWritten && typeof isDone !== 'boolean')
    throw new Breach(`\`isDone\` of \`swap\` is ${shown(isDone)}: give true or false`)
  if (isWritten && isDone === true) return { isDone, text: '', now: 0 }
  return { isDone: false, text: stateText(text), now: instantOf('`now` of `swap`', now) }
}

/** The answers of `run`: a verdict for each operation that is decided. */
export function checkedAnswers(verdicts: readonly Answer[], requests: readonly Request[]): Answer[] {
  if (!Array.isArray(verdicts) || verdicts.length !== requests.length)
    throw new Breach(
      `\`run\` answered ${requests.length} operations with ${shown(verdicts)}: give an array with a verdict or undefined for each`
    )
  return requests.map(({ operation, rules }, i) => {
    const answer = verdicts[i]
    if (answer instanceof HeadgateError) return answer
    return isDecided(operation) ? checkedVerdict(answer, rules.policies.length) : undefined
  })
}

function checkedVerdict(verdict: Verdict | undefined, tiers: number): Verdict {
  const refuse = (field: string, value: unknown, fix: string) =>
    new Breach(`${field} of a verdict is ${shown(value)}: ${fix}`)
  if (typeof verdict !== 'object' || verdict === null)
    throw new Breach(`a verdict of \`run\` is ${shown(verdict)}: give an object`)
  const { isAllowed, isBlocked, charged, at, source, policies, out } = verdict
  if (typeof isAllowed !== 'boolean') throw refuse('`isAllowed`', isAllowed, 'give true or false')
  if (typeof isBlocked !== 'boolean') throw refuse('`isBlocked`', isBlocked, 'give true or false')
  if (!Number.isFinite(charged) || charged < 0)
    throw refuse('`charged`', charged, 'give the units as a number')
  if (source !== 'store') throw refuse('`source`', source, "give 'store'")
  if (!Array.isArray(policies) || policies.length !== tiers)
    throw refuse('`policies`', policies, 'give those of the rules')
  checkOut(out, policies as readonly Policy[], refuse)
  const instant = instantOf('`at` of a verdict', at)
  return instant === at ? verdict : { isAllowed, isBlocked, charged, at: instant, source, policies, out }
}

/** The store has counted, so that none of its numbers is unknown, but for the times that permits leave open. */
function checkOut(
  out: ArrayLike<number>,
  policies: readonly Policy[],
  refuse: (field: string, value: unknown, fix: string) => Breach
): void {
  const size = policies.length * outSize
  if (typeof out !== 'object' || out === null || out.length !== size)
    throw refuse('`out`', out, `give ${size} numbers`)
  for (let i = 0; i < size; i++)
    if (typeof out[i] !== 'number' || (Number.isNaN(out[i]) && !mayBeUnknown(i, policies)))
      throw refuse(`\`out[${i}]\``, out[i], 'give a number')
}

function mayBeUnknown(i: number, policies: readonly Policy[]): boolean {
  const field = i % outSize
  const isTime = field === Out.retryAfterMs || field === Out.resetMs
  return isTime && countsInFlight(policies[(i - field) / outSize]!)
}

/** What `renew` answered: true for each of the permits that were gone. */
export function checkedRenewal(
  areGone: readonly boolean[],
  holdings: readonly Holding[]
): readonly boolean[] {
  const count = holdings.reduce((sum, { held }) => sum + held.length, 0)
  if (Array.isArray(areGone) && areGone.length === count) return areGone
  throw new Breach(
    `\`renew\` answered ${count} permits with ${shown(areGone)}: give an array with true for each that was gone, or false`
  )
}
