import { HeadgateError } from './errors.js'

/**
 * True for promises, of this realm or another, and for whatever else has a `then`, which need not return anything: wait
 * for them by `Promise.resolve`.
 */
export function isPromiseLike<T = unknown>(value: unknown): value is PromiseLike<T> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as { then?: unknown }).then === 'function'
  )
}

/**
 * The promise of a change that a store may fail to make. Whoever awaits it learns of the failure; where nobody does, a
 * failing store must not end the process. Other errors are mistakes of the program, and are left to show.
 */
export function heard<T>(change: PromiseLike<T>): Promise<T> {
  const heardOf: Promise<T> = new Promise((resolve, reject) => {
    change.then(resolve, (error: unknown) => {
      if (error instanceof HeadgateError && error.code === 'HEADGATE_STORE_FAILED')
        heardOf.then(undefined, () => {})
      reject(error)
    })
  })
  return heardOf
}
