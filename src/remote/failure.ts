import { HeadgateError } from '../core/errors.js'
import { shown } from '../core/options.js'

/** A backend that does not do what its contract says. It fails the call. */
export class Breach extends TypeError {
  /** False where it concerns one key alone, and says nothing of the node. */
  readonly isOutage: boolean

  constructor(message: string, isOutage = true) {
    super(message)
    this.isOutage = isOutage
  }
}

/** The error of a call that failed, for the reason that its backend gave, whatever that is. */
export function failureOf(name: string, cause: unknown): HeadgateError {
  if (isFailure(cause)) return cause
  return new HeadgateError('HEADGATE_STORE_FAILED', `${name} failed: ${reasonOf(cause)}`, { cause })
}

/** What was thrown, as text. Anything can be thrown, even what throws when it is looked at. */
export function reasonOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message)
    return typeof thrown === 'object' || typeof thrown === 'function' ? shown(thrown) : String(thrown)
  } catch {
    return 'an error that cannot be shown'
  }
}

function isFailure(cause: unknown): cause is HeadgateError {
  try {
    return cause instanceof HeadgateError && cause.code === 'HEADGATE_STORE_FAILED'
  } catch {
    return false
  }
}
