/**
 * What a strategy admits, by its definition and nothing else: exact, slow, and free of any closed form. `limit` may
 * change between two requests. Nothing but `charge` and `undo` writes.
 */
export interface Model {
  limit: number
  readonly capacity: number
  admits(cost: number, at: number): boolean
  charge(cost: number, at: number): void
  /** Takes the last charge back, as if it had never been. */
  undo(): void
  /** How long a request that was charged last is held back. */
  delay?(): number
}

export interface Expected {
  allowed: boolean
  limit: number
  remaining: number
  retryAfterMs: number
  resetMs: number
  delayMs?: number
}

/** The least number from `from` on for which a condition holds that, once it holds, goes on to hold. */
export function least(from: number, holds: (n: number) => boolean): number {
  if (holds(from)) return from
  let step = 1
  while (!holds(from + step)) {
    step *= 2
    if (step > 2 ** 60) throw new Error('never')
  }
  let low = from + Math.floor(step / 2)
  let high = from + step
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

export const remainingOf = (model: Model, at: number) =>
  least(0, (cost) => cost >= model.capacity || !model.admits(cost + 1, at))

export const waitOf = (model: Model, cost: number, at: number) =>
  model.admits(cost, at)
    ? 0
    : cost > model.capacity
      ? Number.POSITIVE_INFINITY
      : least(1, (wait) => model.admits(cost, at + wait))

export const resetOf = (model: Model, at: number) =>
  least(0, (wait) => model.capacity === 0 || model.admits(model.capacity, at + wait))

/** The decision that the definitions ask for; cost 0 is a look. */
export function decide(model: Model, cost: number, at: number): Expected {
  const allowed = model.admits(cost || 1, at)
  const retryAfterMs = waitOf(model, cost || 1, at)
  if (allowed && cost > 0) model.charge(cost, at)
  const delayMs = model.delay && cost > 0 ? { delayMs: allowed ? model.delay() : 0 } : {}
  return {
    allowed,
    limit: model.capacity,
    remaining: remainingOf(model, at),
    retryAfterMs,
    resetMs: resetOf(model, at),
    ...delayMs
  }
}
