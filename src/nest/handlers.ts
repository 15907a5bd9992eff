import type { Type } from '@nestjs/common'
import type { ModulesContainer, Reflector } from '@nestjs/core'
import { HeadgateError } from '../core/errors.js'
import { placingOf } from '../decorators/limits-of.js'
import { type Class, methodsOf } from '../decorators/marks.js'
import type { HandlerLimits } from './handler-limits.js'
import { classesOf, hasUnguardedFields, marks } from './internals.js'
import { hasOurGuard } from './reach.js'

/** What tells the handlers of an application. */
interface Handlers {
  readonly modules: ModulesContainer
  readonly reflector: Reflector
}

/**
 * Opens the limiters of all handlers, so that what is wrong with one shows at the start. Of a store without room all ask,
 * for its last error says what all of them need.
 * @throws HeadgateError for options that cannot work, `HEADGATE_STORE_FULL`
 */
export function openHandlers(limits: HandlerLimits, handlers: Handlers): void {
  let full: HeadgateError | undefined
  for (const [owner, isController] of classesOf(handlers.modules))
    for (const method of methodsOf(owner)) {
      if (placingOf(owner, method) === undefined && !isLimited(limits, handlers, owner, method, isController))
        continue
      try {
        limits.of(owner, owner.prototype[method])
      } catch (error) {
        if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_STORE_FULL') throw error
        full = error
      }
    }
  if (full !== undefined) throw full
}

/** The methods of a class that `@Limit` limits. */
export function markedMethods(owner: Class): (string | symbol)[] {
  return [...methodsOf(owner)].filter((method) => (placingOf(owner, method)?.limit ?? false) !== false)
}

/** True for a handler that the module's own limit is for. */
function isLimited(
  { isGlobal }: HandlerLimits,
  { modules, reflector }: Handlers,
  owner: Class,
  method: string | symbol,
  isController: boolean
): boolean {
  const handler: unknown = owner.prototype[method]
  const has = (key: string) => reflector.get<unknown>(key, handler as Type) !== undefined
  const isField = has(marks.field) || has(marks.reference)
  const isRequest = (isController && has(marks.route)) || has(marks.resolver) || isField
  if (isField && hasUnguardedFields(modules)) return false
  if (isGlobal && isRequest) return true
  const isHandler = isRequest || has(marks.pattern) || has(marks.subscription)
  return isHandler && (hasOurGuard(reflector, owner) || hasOurGuard(reflector, handler))
}
