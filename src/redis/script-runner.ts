import type { Verdict } from '../core/verdict.js'
import type { Call, Request, Runner } from '../remote/backend.js'
import { isDecided, type Operation } from '../remote/operation.js'
import { keyOf } from './keys.js'
import type { Link } from './link.js'
import { lengthOf, readVerdict } from './reply.js'
import { number, type RedisRules } from './rules.js'
import type { Script } from './script.js'

/** Operations that rules of Redis go by. */
export interface RedisRequest extends Request {
  readonly rules: RedisRules
}

/** Runs operations by one script. */
export class ScriptRunner implements Runner {
  /** While the server is at one call, the next is written or the last is read here (bench/redis.js). */
  readonly most = 32
  readonly #link: Link
  readonly #prefix: string
  readonly #script: Script

  constructor(link: Link, prefix: string, script: Script) {
    this.#link = link
    this.#prefix = prefix
    this.#script = script
  }

  async run(requests: readonly RedisRequest[], call: Call): Promise<(Verdict | undefined)[]> {
    const keys: string[] = []
    for (const { key, operation, rules } of requests) {
      const begin = keyOf(this.#prefix, key)
      for (const suffix of rules.suffixes) keys.push(begin + suffix)
      const more = suffixFor(operation)
      if (more !== null) keys.push(begin + rules.suffixes[0] + more)
    }
    const reply = await this.#link.call(call, this.#script, keys, argumentsOf(requests))
    let from = 2
    return requests.map(({ operation, rules: { policies } }) => {
      if (!isDecided(operation)) return undefined
      const verdict = readVerdict(reply, from, policies)
      from += lengthOf(policies)
      return verdict
    })
  }
}

/**
 * The arguments of a call: the rules that its operations go by, each once, then the operations. Equal ones in a row are
 * written once, with their number: most batches have one kind of operation.
 */
function argumentsOf(requests: readonly RedisRequest[]): string[] {
  const operations: string[] = []
  const indexes = new Map<RedisRules, string>()
  let run = requests[0]!
  let count = 0
  const endRun = () => {
    let index = indexes.get(run.rules)
    if (index === undefined) {
      index = String(indexes.size + 1)
      indexes.set(run.rules, index)
    }
    operations.push(String(count), index, ...wordsOf(run.operation))
  }
  for (const request of requests) {
    if (request.rules !== run.rules || !isLike(request.operation, run.operation)) {
      endRun()
      run = request
      count = 0
    }
    count++
  }
  endRun()
  return [String(indexes.size), ...[...indexes.keys()].flatMap(({ argv }) => argv), ...operations]
}

/** What follows the name of the key that an operation has besides: see lua/main.lua. */
function suffixFor(operation: Operation): string | null {
  const { kind } = operation
  if (kind === 'repay') return `:paid:${operation.mark}`
  return kind === 'lease' || kind === 'return' || kind === 'reset' ? ':lease' : null
}

/** An operation as lua/main.lua reads it. */
function wordsOf(operation: Operation): string[] {
  const { kind } = operation
  switch (kind) {
    case 'lease':
      return [kind, String(operation.cost), String(operation.wanted)]
    case 'refund':
      return [kind, String(operation.cost), String(operation.chargedAt ?? '')]
    case 'return':
      return [kind, String(operation.cost), String(operation.chargedAt)]
    case 'reset':
      return [kind]
    case 'block':
      return [kind, number(operation.blockMs), operation.isLeast ? '1' : '0']
    case 'repay':
      return [kind, ...operation.units.map(String), String(operation.markMs)]
    default:
      return [kind, String(operation.cost)]
  }
}

/** True for operations that ask for the same. Those that are rare are taken to differ. */
function isLike(a: Operation, b: Operation): boolean {
  if (a === b) return true
  if (a.kind === 'lease') return b.kind === 'lease' && a.cost === b.cost && a.wanted === b.wanted
  if (a.kind === 'repay') return false
  return isDecided(a) && a.kind === b.kind && a.cost === (b as typeof a).cost
}
