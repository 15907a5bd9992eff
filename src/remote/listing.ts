import { HeadgateError } from '../core/errors.js'
import type { Blocked, BlockPage, BlocksFound } from '../core/store.js'
import type { Backend, LimiterTerms } from './backend.js'
import { inTime } from './clearing.js'
import { failureOf } from './failure.js'
import type { Deadline } from './time/deadline.js'

/** Steps of a backend that one page takes at the most: where few of many keys are blocked, it is left short. */
const mostSteps = 128

/**
 * Has a backend list the blocked keys of a limiter, step by step, until there are enough for a page.
 * @throws HeadgateError `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` for a backend that cannot
 */
export async function blocksIn(
  backend: Backend,
  limiter: LimiterTerms,
  { after, limit }: BlockPage,
  deadline: Deadline
): Promise<BlocksFound> {
  if (backend.blocks === undefined)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `${backend.name} cannot list what it blocks: its backend has no \`blocks\`. \`peek(key)\` tells of one key.`
    )
  try {
    const steps = backend.blocks(limiter, after)[Symbol.asyncIterator]()
    const found = new Map<string, Blocked>()
    let next = after
    for (let i = 0; i < mostSteps && found.size < limit; i++) {
      const { done, value } = await inTime(steps, deadline)
      next = done === true ? null : value.next
      if (done !== true) for (const block of value.blocks) found.set(block.key, block)
      if (next === null) break
    }
    steps.return?.().then(undefined, () => {})
    return { blocks: [...found.values()], next }
  } catch (error) {
    if (error instanceof HeadgateError) throw error
    throw failureOf(backend.name, error)
  }
}
