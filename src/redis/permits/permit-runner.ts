import type { Verdict } from '../../core/verdict.js'
import type { Answer, Call, Request, Runner } from '../../remote/backend.js'
import { isDecided, type Operation } from '../../remote/operation.js'
import { keyOf } from '../keys.js'
import type { Link } from '../link.js'
import { runsApart, suffixFor, wordsOf } from '../script-runner.js'
import type { Script } from '../scripts/script.js'
import { mostPermits, type PermitRules, permitsSuffix } from './permit-rules.js'

/** Operations of limiters that count what is in flight. */
interface PermitRequest extends Request {
  readonly rules: PermitRules
}

/** Numbers of an answer before those of its tiers: see lua/permits.lua. */
const headNumbers = 4

/** Runs operations of limiters that count what is in flight. */
export class PermitRunner implements Runner {
  readonly most = 32
  readonly #link: Link
  readonly #prefix: string
  readonly #script: Script

  constructor(link: Link, prefix: string, script: Script) {
    this.#link = link
    this.#prefix = prefix
    this.#script = script
  }

  run(requests: readonly PermitRequest[], call: Call): Promise<readonly Answer[]> {
    const keys = requests.flatMap((request) => keysOf(this.#prefix, request))
    return this.#link.call(call, this.#script, keys, argumentsOf(requests)).then(
      (reply) => answersOf(requests, reply),
      (error) => runsApart(this, this.#script, requests, call, error)
    )
  }
}

function keysOf(prefix: string, { key, operation, rules }: PermitRequest): string[] {
  const begin = keyOf(prefix, key)
  const [main] = rules.suffixes
  if (operation.kind === 'release') return [begin + main + permitsSuffix]
  const more = suffixFor(operation)
  return [...rules.suffixes, main + permitsSuffix, ...(more === null ? [] : [main + more])].map(
    (suffix) => begin + suffix
  )
}

/** The rules that operations go by, each once, then the operations. */
function argumentsOf(requests: readonly PermitRequest[]): string[] {
  const indexes = new Map<PermitRules, number>()
  const operations = requests.flatMap(({ operation, rules }) => {
    const index = indexes.get(rules) ?? indexes.size + 1
    indexes.set(rules, index)
    return [String(index), ...permitWords(operation, rules)]
  })
  return [String(indexes.size), ...[...indexes.keys()].flatMap(({ argv }) => argv), ...operations]
}

/** An operation as lua/permits.lua reads it. */
function permitWords(operation: Operation, { tier, policies }: PermitRules): string[] {
  const { kind } = operation
  if (kind === 'release') return [kind, String(operation.cost), operation.permit]
  if (kind !== 'acquire') return wordsOf(operation)
  const { cost, permit, leaseMs } = operation
  // Even where a limit function sets no limit.
  const capacity = Math.min(tier.permitOf(policies).capacity, mostPermits)
  return [kind, String(cost), String(capacity), permit, String(leaseMs)]
}

function answersOf(requests: readonly PermitRequest[], reply: readonly unknown[]): Answer[] {
  // -1 is infinity, which the protocol has no integer for.
  const numbers = reply.map((value) => (Number(value) === -1 ? Number.POSITIVE_INFINITY : Number(value)))
  let at = 2
  return requests.map(({ operation, rules }) => {
    if (!isDecided(operation)) return undefined
    const { policies, tier } = rules
    const windows = tier.hasWindows ? tier.windowsOf(policies) : []
    const end = at + headNumbers + 4 * windows.length
    const verdict = verdictOf(numbers.slice(at, end), numbers[1]!, operation, rules)
    at = end
    return verdict
  })
}

function verdictOf(
  [flags = 0, charged = 0, blockedMs = 0, count = 0, ...out]: readonly number[],
  at: number,
  operation: Operation,
  { policies, tier }: PermitRules
): Verdict {
  const isAllowed = (flags & 1) === 1
  const isAcquired = operation.kind === 'acquire'
  const kind = isAcquired ? 'take' : operation.kind === 'charge' ? 'charge' : 'peek'
  const windows: Verdict = {
    ...{ isAllowed, isBlocked: (flags & 2) === 2, charged, at },
    ...{ source: 'store', policies, out }
  }
  const cost = 'cost' in operation ? operation.cost : 1
  return tier.verdict(windows, { kind }, cost, policies, {
    ...{ count, blockedMs },
    isTaken: isAcquired && isAllowed
  })
}
