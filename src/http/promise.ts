import { shown } from '../core/options.js'

/** True for promises and other objects with a `then`, which need not return anything: wait for them by `Promise.resolve`. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

/**
 * Reads several values, some of which may be promises: all of them, at once where none is. Where one read fails,
 * promises that were made before it are still listened to, so that none is left unhandled.
 */
export function gather<T>(reads: readonly (() => T | PromiseLike<T>)[]): T[] | Promise<T[]> {
  const values: (T | PromiseLike<T>)[] = []
  try {
    for (const read of reads) values.push(read())
  } catch (error) {
    for (const value of values) if (isPromiseLike(value)) value.then(undefined, () => {})
    throw error
  }
  return values.some(isPromiseLike) ? Promise.all(values) : (values as T[])
}

/**
 * What was thrown, as an error: frameworks take nothing thrown for success, and some texts for commands
 * (`next('route')`).
 */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  return new Error(`A function given to headgate threw ${shown(thrown)}, which is no error.`, {
    cause: thrown
  })
}
