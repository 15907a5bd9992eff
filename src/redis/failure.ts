import { HeadgateError } from '../core/errors.js'
import { reasonOf } from '../remote/failure.js'
import type { Script } from './scripts/script.js'

/** What servers answer that have not done what they were asked, by the first word of their error. */
const meanings: Readonly<Record<string, string>> = {
  READONLY: 'the node is a replica',
  LOADING: 'the node is loading its data',
  OOM: 'the node is out of memory, and has nothing that it may evict',
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
function codeOf(error: unknown): string {
  return /^[A-Z]+/.exec(reasonOf(error))?.[0] ?? ''
}

/** True for errors whose meaning is known, and for those of the connection: what they concern is no lack of a script. */
export function isUnderstood(error: unknown): boolean {
  const reason = reasonOf(error)
  return (
    codeOf(error) in meanings ||
    /^ERR\b/.test(reason) ||
    typeof (error as { code?: unknown } | null)?.code === 'string' ||
    /\b(connection|socket|closed|time-?out|timed out|abort)/i.test(reason)
  )
}

/** True if a server says that it does not know a script, however its client words that. */
export function lacksScript(error: unknown): boolean {
  for (let cause = error, depth = 0; cause != null && depth < 5; depth++) {
    const { name, cause: next } = Object(cause) as { name?: unknown; cause?: unknown }
    if (/NOSCRIPT|No matching script/i.test(reasonOf(cause)) || name === 'NoScriptError') return true
    cause = next
  }
  return false
}

/** The error of a call that was answered with one, or whose answer is not known. */
export function failure(cause: unknown, script?: Script): HeadgateError {
  const reason = reasonOf(cause)
  const meaning = forbidden(reason, script) ?? meanings[codeOf(cause)]
  return new HeadgateError(
    'HEADGATE_STORE_FAILED',
    meaning === undefined ? `Redis failed: ${reason}` : `Redis refused, for ${meaning}: ${reason}`,
    { cause }
  )
}

/** What a script was refused for lack of rights, in the words of Redis 6 and 7.0, or of later ones and Valkey. */
const lacksRights = /can't run|can't access|ACL failure/

/** Of a command that the user may not run, most servers tell no more than the line of the script. */
function forbidden(reason: string, script: Script | undefined): string | undefined {
  if (script === undefined || !lacksRights.test(reason)) return undefined
  if (/can't access|permissions to access/.test(reason))
    return 'the user of the client may not use these keys'
  const line = Number(/@user_script:\s*(\d+)/.exec(reason)?.[1])
  const inLine = /redis\.p?call\('(\w+)'/.exec(script.text.split('\n')[line - 1] ?? '')?.[1]
  const command = /to run the '(\w+)'/.exec(reason)?.[1]?.toUpperCase() ?? inLine
  const what = command === undefined ? 'a command of the script' : `\`${command}\``
  return `the user of the client may not run ${what}, which docs/redis.md lists`
}

/** The error of a strategy's own Lua; undefined for all other errors. */
export function faultOf(cause: unknown, { hasForeign }: Script): HeadgateError | undefined {
  const reason = reasonOf(cause)
  const isOfScript = /user_script|Error running script/.test(reason) && !lacksRights.test(reason)
  if (!hasForeign || !isOfScript || codeOf(cause) in meanings) return undefined
  return new HeadgateError('HEADGATE_BAD_STRATEGY', `The Lua of a strategy failed: ${reason}`, { cause })
}

/** The error of a call that is not even tried. */
export function absence(why: string | null = null): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_FAILED',
    `The Redis client still has no connection${why === null ? '' : ` (${why})`}.`
  )
}
