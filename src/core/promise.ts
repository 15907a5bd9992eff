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
