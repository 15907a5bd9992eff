import type { HttpAdapterHost } from '@nestjs/core'
import { warn } from '../core/warn.js'
import { asError } from '../http/promise.js'
import { RateLimitException } from './exception.js'
import type { HandlerLimit, HandlerLimits } from './handler-limits.js'
import { aroundNotFound, type PathHandler, type PathNext } from './internals.js'

/**
 * Has unknown paths limited too. No guard is called for them, so it stands before the handler that answers 404.
 * @returns what is to be called once the application has started: it warns where that handler has not come by
 */
export function limitUnknownPaths(
  platform: HttpAdapterHost,
  { gate }: HandlerLimit,
  limits: HandlerLimits
): () => void {
  const before =
    (handler: PathHandler, refuse: (error: Error, next: PathNext | undefined) => unknown): PathHandler =>
    async (request, response, next) => {
      try {
        if (limits.override === null) await gate.admitRequest(request, response)
      } catch (error) {
        return refuse(asError(error), next)
      }
      return handler(request, response, next)
    }
  const isLimited = aroundNotFound(
    platform,
    (handler) => before(handler, toNest),
    before((_request, _response, next) => next?.(), toExpress)
  )
  return () => {
    if (!isLimited())
      warn(
        'HEADGATE_UNLIMITED_PATHS',
        'Nest has not given its handler of unknown paths to the HTTP adapter, so they are not limited: limit them before ' +
          'Nest, by headgate/express or headgate/fastify.'
      )
  }
}

/** Express takes errors so, and Fastify as rejections; either has Nest's filters behind it. */
function toNest(error: Error, next: PathNext | undefined): void {
  if (next === undefined) throw error
  next(error)
}

function toExpress(error: Error, next: PathNext | undefined): void {
  if (error instanceof RateLimitException) error.send()
  else next?.(error)
}
