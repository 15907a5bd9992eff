import type { Clock } from '../core/clock.js'
import type { HeadgateError } from '../core/errors.js'
import type { Answer, Call, Runner } from '../remote/backend.js'
import { faultOf } from './failure.js'
import { keyOf } from './keys.js'
import type { Link } from './link.js'
import type { RedisRequest } from './script-runner.js'
import { turning } from './scripts/calendar-starts.js'
import { jointScript } from './scripts/decision-script.js'
import { ReplyReader } from './scripts/reply.js'
import { type RedisRules, ruleArguments } from './scripts/rules.js'
import type { Script, TimeSource } from './scripts/script.js'
import { StrategyNames } from './scripts/strategy-names.js'

/** Rules of several limiters as one script goes by them, that has the strategies of all. */
export function jointRules(
  rules: readonly RedisRules[],
  time: TimeSource,
  now: Clock,
  runnerOf: (script: Script) => Runner
): readonly RedisRules[] {
  const all = rules.map(({ parts }) => parts!)
  const names = new StrategyNames(all.flatMap(({ policies, lowest }) => [...policies, ...(lowest ?? [])]))
  const runner = runnerOf(jointScript(time, all, names))
  return rules.map(({ policies, suffixes, parts }) =>
    turning(policies, now, (at) => ({
      ...{ policies, suffixes, parts, runner, own: null },
      argv: ruleArguments({ ...parts!, now: at }, names)
    }))
  )
}

/** Decides about the keys of several limiters together: operations `join`, as many in a row as each of them says. */
export class JointRunner implements Runner {
  readonly most = 32
  readonly #link: Link
  readonly #prefix: string
  readonly #script: Script

  constructor(link: Link, prefix: string, script: Script) {
    this.#link = link
    this.#prefix = prefix
    this.#script = script
  }

  run(requests: readonly RedisRequest[], call: Call): Promise<readonly Answer[]> {
    const keys = requests.flatMap(({ key, rules }) => {
      const begin = keyOf(this.#prefix, key)
      return rules.suffixes.map((suffix) => begin + suffix)
    })
    return this.#link.call(call, this.#script, keys, argumentsOf(requests)).then(
      (reply) => {
        const reader = new ReplyReader(reply)
        return requests.map((request) => reader.verdict(request.rules.policies, costOf(request)))
      },
      (error) => this.#runApart(requests, call, error)
    )
  }

  /** A strategy's own Lua that fails has done nothing, and fails those alone that are decided together. */
  async #runApart(
    requests: readonly RedisRequest[],
    call: Call,
    error: HeadgateError
  ): Promise<readonly Answer[]> {
    const fault = faultOf(error.cause, this.#script)
    if (fault === undefined) throw error
    const size = sizeOf(requests[0]!)
    if (requests.length === size) return requests.map(() => fault)
    const answers: Answer[] = []
    for (let i = 0; i < requests.length; i += sizeOf(requests[i]!))
      answers.push(...(await this.run(requests.slice(i, i + sizeOf(requests[i]!)), call)))
    return answers
  }
}

/** The rules, each once; then of each decision how many keys it has, and for each the number of its rules and the cost. */
function argumentsOf(requests: readonly RedisRequest[]): string[] {
  const indexes = new Map<RedisRules, number>()
  const decisions: string[] = []
  let end = 0
  for (const [i, request] of requests.entries()) {
    if (i === end) {
      decisions.push(String(sizeOf(request)))
      end += sizeOf(request)
    }
    const index = indexes.get(request.rules) ?? indexes.size + 1
    indexes.set(request.rules, index)
    decisions.push(String(index), String(costOf(request)))
  }
  return [String(indexes.size), ...[...indexes.keys()].flatMap(({ argv }) => argv), ...decisions]
}

function sizeOf({ operation }: RedisRequest): number {
  return operation.kind === 'join' ? operation.size : 1
}

function costOf({ operation }: RedisRequest): number {
  return operation.kind === 'join' ? operation.cost : 0
}
