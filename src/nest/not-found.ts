import type { HttpAdapterHost } from '@nestjs/core'
import type { HandlerLimit } from './handler-limits.js'

type NotFoundHandler = (request: object, response: object, next?: (error?: unknown) => void) => unknown

/** What is used of a platform's adapter. */
interface Adapter {
  setNotFoundHandler?: (handler: NotFoundHandler, prefix?: string) => unknown
}

/**
 * Has unknown paths limited too. No guard is called for them, so it stands before the handler that answers 404, which
 * Nest gives to the adapter once all modules have set up theirs.
 */
export function limitUnknownPaths(host: HttpAdapterHost, { gate }: HandlerLimit): void {
  const adapter = host.httpAdapter as unknown as Adapter | undefined
  const set = adapter?.setNotFoundHandler
  if (adapter === undefined || set === undefined) return
  adapter.setNotFoundHandler = (handler, prefix) => {
    const limited: NotFoundHandler = async (request, response, next) => {
      try {
        await gate.admitRequest(request, response)
      } catch (error) {
        // Express takes errors so, and Fastify as rejections; either has Nest's filters behind it.
        if (next === undefined) throw error
        return next(error)
      }
      return handler(request, response, next)
    }
    return set.call(adapter, limited, prefix)
  }
}
