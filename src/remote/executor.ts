import type { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Verdict } from '../core/verdict.js'
import type { Node } from './nodes.js'
import type { Operation } from './operation.js'

/** Where a key is. */
export interface Location {
  readonly node: Node
  readonly shard: number
  /** Why nobody knows where it is; null if it was found. */
  readonly failure: HeadgateError | null
}

/** How the operations of one limiter are carried out. */
export interface Executor {
  /** Until when what is asked for now has time, in loop time. */
  due(): number
  /**
   * @param due the same for what has waited already; if left out, it has all the time there is
   * @returns the verdict on what is decided; for other operations what it resolves with means nothing
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  execute(
    key: string,
    location: Location,
    operation: Operation,
    policies: readonly Policy[],
    due?: number
  ): Promise<Verdict | undefined>
}
