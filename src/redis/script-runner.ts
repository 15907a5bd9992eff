import type { HeadgateError } from '../core/errors.js'
import type { Answer, Call, Request, Runner } from '../remote/backend.js'
import { isDecided, type Operation } from '../remote/operation.js'
import { faultOf } from './failure.js'
import { keyOf } from './keys.js'
import type { Link } from './link.js'
import { argument } from './scripts/lua-words.js'
import { ReplyReader } from './scripts/reply.js'
import type { RedisRules } from './scripts/rules.js'
import type { Script } from './scripts/script.js'

/** Operations that rules of Redis go by. */
export interface RedisRequest extends Request {
  readonly rules: RedisRules
}

/**
 * Runs operations by the script that has their rules written into it. Operations whose rules differ share the script that
 * takes them as arguments.
 */
export class ScriptRunner implements Runner {
  /** While the server is at one call, the next is written or the last is read here (bench/redis.js). */
  readonly most = 32
  readonly #link: Link
  readonly #prefix: string
  readonly #shared: Script

  constructor(link: Link, prefix: string, shared: Script) {
    this.#link = link
    this.#prefix = prefix
    this.#shared = shared
  }

  run(requests: readonly RedisRequest[], call: Call): Promise<readonly Answer[]> {
    const keys: string[] = []
    for (const { key, operation, rules } of requests) {
      const begin = keyOf(this.#prefix, key)
      for (const suffix of rules.suffixes) keys.push(begin + suffix)
      const more = suffixFor(operation)
      if (more !== null) keys.push(begin + rules.suffixes[0] + more)
    }
    const own = ownOf(requests)
    const args = own === null ? allArguments(requests, false) : argumentsOf(requests)
    return this.#link.call(call, own ?? this.#shared, keys, args).then(
      (reply) => {
        const reader = new ReplyReader(reply)
        return requests.map(({ operation, rules }) =>
          isDecided(operation) ? reader.verdict(rules.policies, costOf(operation)) : undefined
        )
      },
      (error) => runsApart(this, this.#shared, requests, call, error)
    )
  }
}

/** A strategy's own Lua that fails has done nothing, and fails its operation alone. */
export async function runsApart<R extends Request>(
  runner: { run(requests: readonly R[], call: Call): Promise<readonly Answer[]> },
  script: Script,
  requests: readonly R[],
  call: Call,
  error: HeadgateError
): Promise<readonly Answer[]> {
  const fault = faultOf(error.cause, script)
  if (fault === undefined) throw error
  if (requests.length === 1) return [fault]
  const answers: Answer[] = []
  for (const request of requests) answers.push(...(await runner.run([request], call)))
  return answers
}

/** The script that has the rules of all requests written into it, if there is one. */
function ownOf(requests: readonly RedisRequest[]): Script | null {
  const { own } = requests[0]!.rules
  for (const { rules } of requests) if (rules.own !== own) return null
  return own
}

/** The arguments of a script that has the rules: plain takes of one cost need none but that. */
function argumentsOf(requests: readonly RedisRequest[]): readonly string[] {
  const { operation } = requests[0]!
  if (operation.kind !== 'take' || !requests.every((one) => isSame(one.operation, operation)))
    return allArguments(requests, true)
  return operation.cost === 1 ? [] : [String(operation.cost)]
}

/**
 * The rules that operations go by, each once, if the script does not have them; then the operations. Equal ones in a row
 * are written once, with their number: most batches have one kind of operation.
 */
function allArguments(requests: readonly RedisRequest[], hasRules: boolean): string[] {
  const operations: string[] = []
  const indexes = new Map<RedisRules, number>()
  let run = requests[0]!
  let count = 0
  const endRun = () => {
    const index = hasRules ? 1 : (indexes.get(run.rules) ?? indexes.size + 1)
    indexes.set(run.rules, index)
    operations.push(String(count), String(index), ...wordsOf(run.operation))
  }
  for (const request of requests) {
    if (!isSame(request.operation, run.operation) || (request.rules !== run.rules && !hasRules)) {
      endRun()
      run = request
      count = 0
    }
    count++
  }
  endRun()
  if (hasRules) return operations
  return [String(indexes.size), ...[...indexes.keys()].flatMap(({ argv }) => argv), ...operations]
}

/** What is charged for an operation that is allowed, if the reply does not say so. */
function costOf(operation: Operation): number {
  return 'cost' in operation ? operation.cost : 0
}

/** What follows the name of the key that an operation has besides: see lua/main.lua. */
export function suffixFor(operation: Operation): string | null {
  const { kind } = operation
  if (kind === 'repay') return `:paid:${operation.mark}`
  return kind === 'lease' || kind === 'return' || kind === 'reset' ? ':lease' : null
}

/** An operation as lua/main.lua reads it. */
export function wordsOf(operation: Operation): string[] {
  const { kind } = operation
  switch (kind) {
    case 'lease':
      return [kind, String(operation.cost), String(operation.wanted)]
    case 'refund':
      return [
        kind,
        String(operation.cost),
        operation.chargedAt === undefined ? '' : argument(operation.chargedAt)
      ]
    case 'return':
      return [kind, String(operation.cost), String(operation.chargedAt)]
    case 'reset':
      return [kind]
    case 'block':
      return [kind, argument(operation.blockMs), operation.isLeast ? '1' : '0']
    case 'repay':
      return [kind, ...operation.units.map(String), String(operation.markMs)]
    default:
      return [kind, String(operation.cost)]
  }
}

/** True for operations that ask for the same. Those that are rare are taken to differ. */
function isSame(a: Operation, b: Operation): boolean {
  if (a === b) return true
  if (a.kind === 'lease') return b.kind === 'lease' && a.cost === b.cost && a.wanted === b.wanted
  if (a.kind === 'repay') return false
  return isDecided(a) && a.kind === b.kind && a.cost === (b as typeof a).cost
}
