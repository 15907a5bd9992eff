import { HeadgateError } from '../core/errors.js'

/** What servers answer that have not done what they were asked, by the first word of their error. */
const meanings: Readonly<Record<string, string>> = {
  READONLY: 'the node is a replica',
  LOADING: 'the node is loading its data',
  OOM: 'the node is out of memory, and may not evict',
  CLUSTERDOWN: 'the cluster does not serve the slot',
  MASTERDOWN: 'the replica has lost its master',
  TRYAGAIN: 'the slot is being moved',
  MOVED: 'the slot has moved',
  BUSY: 'the node is busy with another script',
  NOAUTH: 'the client has not logged in',
  NOPERM: 'the user may not run scripts on these keys',
  NOREPLICAS: 'the master has too few replicas',
  CROSSSLOT: 'the keys are in different slots'
}

/** The first word of a server's error. */
export function codeOf(error: unknown): string {
  return /^[A-Z]+/.exec((error as Error | null)?.message ?? '')?.[0] ?? ''
}

/** The error of a call that was answered with one, or whose answer is not known. */
export function failure(cause: unknown): HeadgateError {
  const code = codeOf(cause)
  const meaning = meanings[code]
  const message = cause instanceof Error ? cause.message : String(cause)
  return new HeadgateError(
    'HEADGATE_STORE_FAILED',
    meaning === undefined ? `Redis failed: ${message}` : `Redis refused, for ${meaning}: ${message}`,
    { cause }
  )
}

/** The error of a call that is not even tried. */
export function absence(): HeadgateError {
  return new HeadgateError('HEADGATE_STORE_FAILED', 'The Redis client still has no connection.')
}
