import type { HttpAdapterHost } from '@nestjs/core'
import { asError } from '../http/promise.js'
import { RateLimitException } from './exception.js'
import type { HandlerLimit } from './handler-limits.js'

type Next = (error?: unknown) => void
type PathHandler = (request: object, response: object, next?: Next) => unknown

/** What is used of a platform's adapter. */
interface Adapter {
  use?: (handler: PathHandler) => unknown
  setNotFoundHandler?: (handler: PathHandler, prefix?: string, ...more: unknown[]) => unknown
}

/**
 * Has unknown paths limited too. No guard is called for them, so it stands before the handler that answers 404, which
 * Nest gives to the adapter once all modules have set up theirs.
 */
export function limitUnknownPaths(host: HttpAdapterHost, { gate }: HandlerLimit): void {
  const adapter = host.httpAdapter as unknown as Adapter | undefined
  const set = adapter?.setNotFoundHandler
  if (adapter === undefined || set === undefined) return
  const before =
    (handler: PathHandler, refuse: (error: Error, next: Next | undefined) => unknown): PathHandler =>
    async (request, response, next) => {
      try {
        await gate.admitRequest(request, response)
      } catch (error) {
        return refuse(asError(error), next)
      }
      return handler(request, response, next)
    }
  adapter.setNotFoundHandler = (handler, prefix, ...more) => {
    const result = set.call(adapter, before(handler, toNest), prefix, ...more)
    // Over Express that handler stands under the global prefix alone, and so do Nest's filters.
    if (prefix && host.httpAdapter.getType() === 'express')
      adapter.use?.(before((_request, _response, next) => next?.(), toExpress))
    return result
  }
}

/** Express takes errors so, and Fastify as rejections; either has Nest's filters behind it. */
function toNest(error: Error, next: Next | undefined): void {
  if (next === undefined) throw error
  next(error)
}

function toExpress(error: Error, next: Next | undefined): void {
  if (error instanceof RateLimitException) error.send()
  else next?.(error)
}
