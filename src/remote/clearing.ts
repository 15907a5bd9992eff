import { HeadgateError } from '../core/errors.js'
import type { Backend } from './backend.js'
import { failureOf } from './failure.js'
import type { Deadline } from './time/deadline.js'

/**
 * Has a backend forget all keys of a limiter, or of all limiters for null, step by step.
 * @throws HeadgateError `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` for a backend that cannot
 */
export async function clearIn(backend: Backend, name: string | null, deadline: Deadline): Promise<void> {
  if (backend.clear === undefined)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `${backend.name} cannot be cleared: its backend has no \`clear\`. \`reset(key)\` forgets one key.`
    )
  try {
    const steps = backend.clear(name)[Symbol.asyncIterator]()
    while (!(await inTime(steps, deadline)).done);
  } catch (error) {
    if (error instanceof HeadgateError) throw error
    throw failureOf(backend.name, error)
  }
}

/** The next step; what has waited too long is asked for no more. */
export function inTime<T>(steps: AsyncIterator<T>, deadline: Deadline): Promise<IteratorResult<T>> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      steps.return?.().then(undefined, () => {})
      reject(deadline.lateness())
    }
    const waiting = { due: deadline.due(), giveUp }
    deadline.expect(waiting)
    steps
      .next()
      .then(resolve, reject)
      .finally(() => deadline.forget(waiting))
  })
}
