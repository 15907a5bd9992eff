import type { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import { type Action, kept, type Verdict } from '../core/verdict.js'
import type { RemoteBucketsParts } from './buckets.js'
import { OperationExecutor } from './operation-executor.js'

/** What one limiter is to take, by a key as it is kept. */
export interface RemoteTake {
  readonly parts: RemoteBucketsParts
  readonly action: Action
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
}

/**
 * Takes units of keys each of another limiter of one store in one step: all are admitted, or none is charged. While the
 * store fails, each is decided here.
 * @returns null where that cannot be one step: the keys are on several shards, or the backend has no means
 */
export function takeTogether(takes: readonly RemoteTake[]): Promise<readonly Verdict[]> | null {
  const [first] = takes as readonly [RemoteTake]
  const location = first.parts.locate(first.key)
  const { node, shard, failure } = location
  if (failure !== null || takes.some(({ parts, key }) => parts.locate(key).shard !== shard)) return null
  if (!takes.every(({ parts }) => parts.executor instanceof OperationExecutor)) return null
  if (!node.breaker.admits()) return Promise.resolve(takes.map((take) => decideHere(take)))
  const askedAt = performance.now()
  const asked = OperationExecutor.together(
    takes.map(({ parts, key, cost, policies }) => ({
      ...{ key, cost, policies },
      executor: parts.executor as OperationExecutor
    })),
    location
  )
  if (asked === null) return null
  return asked.then(
    (verdicts) => {
      for (const [i, { parts, key, cost }] of takes.entries()) {
        parts.denyCache?.add(key, cost, askedAt, verdicts[i]!)
        parts.blocks.hear(key, verdicts[i]!, false)
      }
      return verdicts
    },
    (error) => {
      // An error of the user's strategy is no failure of the store.
      if ((error as HeadgateError).code !== 'HEADGATE_STORE_FAILED') throw error
      return takes.map((take) => decideHere(take))
    }
  )
}

function decideHere({ parts, action, key, cost, policies }: RemoteTake): Verdict {
  const { breaker } = parts.locate(key).node
  return kept(parts.localCounting.decide(action, key, cost, policies, breaker.waitMs))
}
