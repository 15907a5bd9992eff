/*
 * What is noticed of limiters that are made anew for each request: then each counts for itself, and nothing is limited.
 * Nothing waits for it, and no timer is used, as tests put others in their place.
 */

import { warnOnce } from '../core/warn.js'

/** Frames of the stack that are looked at, and how many of them tell one place of a program from another. */
const frames = 50
const telling = 8

/** Past so many limiters nobody looks any more, and so many places are remembered. */
const mostLooks = 10_000
const mostSites = 1000

/** How many limiters of one place it takes where nothing else is known than that a handler was at work: one may be kept. */
const suspicious = 2

/**
 * What calls the handlers of requests, as it shows on the stack. By file and function: Node, over HTTP/1 and HTTP/2; Express
 * 4 and 5; Fastify; NestJS. Where a bundler has put all into one file, or a handler has awaited something, a limiter without
 * a framework is not noticed.
 */
const dispatchers = [
  /^node:(_http_server|internal\/http2\/compat)#/,
  /[\\/](router|express[\\/]lib[\\/]router)[\\/](lib[\\/])?layer\.js#/,
  /[\\/]fastify[\\/]lib[\\/](handle-request\.js#|hooks\.js#hookIterator)/,
  /[\\/]@nestjs[\\/]core[\\/](router|guards|interceptors|helpers)[\\/]/
]

let hasSaid = false
let looks = 0

/** How often a limiter was made in a handler, by place. */
const inHandlers = new Map<string, number>()

/** Where in the program, and when, a limiter was made. */
export interface Making {
  readonly site: string
  /** True where a handler of requests was at work, as far as one can see. */
  readonly isInHandler: boolean
}

/** Looks where a limiter is being made; null where nothing is to be said any more. */
export function lookAtMaking(): Making | null {
  if (hasSaid || ++looks > mostLooks) return null
  const calls = callSites()
  return {
    site: calls.slice(0, telling).join(),
    isInHandler: calls.some((call) => dispatchers.some((pattern) => pattern.test(call)))
  }
}

/** Notes a limiter that no framework tells more of, and says so where several were made in handlers at one place. */
export function noteMaking(making = lookAtMaking()): void {
  if (making?.isInHandler !== true) return
  const count = (inHandlers.get(making.site) ?? 0) + 1
  if (inHandlers.size >= mostSites) inHandlers.clear()
  inHandlers.set(making.site, count)
  if (count >= suspicious) warnOfLateLimiter()
}

/** Says once a process that limiters are made while requests are served. */
export function warnOfLateLimiter(): void {
  if (hasSaid) return
  hasSaid = true
  warnOnce(
    'HEADGATE_MADE_PER_REQUEST',
    'A limiter was made while the server was already at work, as one made inside a request handler is: each counts for ' +
      'itself and nothing is limited. Make it once, where the routes are set up.'
  )
}

/** The calls that lead here, innermost first: `file#function:line:column`. */
function callSites(): readonly string[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  try {
    Error.stackTraceLimit = frames
    // Not the text, which others may have to look up in source maps.
    Error.prepareStackTrace = (_error, sites) => sites
    const sites = new Error().stack as unknown
    return Array.isArray(sites) ? sites.map(shown) : []
  } catch {
    // Where the intrinsics are frozen.
    return []
  } finally {
    restore(prepareStackTrace, stackTraceLimit)
  }
}

function restore(prepareStackTrace: typeof Error.prepareStackTrace, stackTraceLimit: number): void {
  try {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit })
  } catch {}
}

function shown(site: NodeJS.CallSite): string {
  return `${site.getFileName()}#${site.getFunctionName()}:${site.getLineNumber()}:${site.getColumnNumber()}`
}
