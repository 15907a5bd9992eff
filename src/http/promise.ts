import { shown } from '../core/options.js'
import { isPromiseLike } from '../core/promise.js'

const { types } = process.getBuiltinModule('node:util')

export { isPromiseLike }

/**
 * Reads several values, some of which may be promises: all of them, at once where none is. Where one read fails,
 * promises that were made before it are still listened to, so that none is left unhandled.
 */
export function gather<T>(reads: readonly (() => T | PromiseLike<T>)[]): T[] | Promise<T[]> {
  const values: (T | PromiseLike<T>)[] = []
  try {
    for (const read of reads) values.push(read())
  } catch (error) {
    for (const value of values) if (isPromiseLike(value)) Promise.resolve(value).catch(() => {})
    throw error
  }
  return values.some((value) => isPromiseLike(value)) ? Promise.all(values) : (values as T[])
}

/** True for errors of every realm: those of tests that Jest runs are of another one than those of Node. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value)
}

/**
 * What was thrown, as an error: frameworks take nothing thrown for success, and some texts for commands
 * (`next('route')`).
 */
export function asError(thrown: unknown): Error {
  if (isError(thrown)) return thrown
  return new Error(`A function given to headgate threw ${shown(thrown)}, which is no error.`, {
    cause: thrown
  })
}
