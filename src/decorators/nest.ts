import { HeadgateError } from '../core/errors.js'
import { type Class, methodsOf } from './marks.js'

/*
 * The plain `@Limit` on a handler of NestJS, where nothing but RateLimitModule reads it. It leaves a guard there, which
 * Nest makes when the application starts, and which refuses to be made where that module is missing.
 *
 * Relies on what Nest keeps by `reflect-metadata`: guards under `__guards__`; what a class wants injected under
 * `self:paramtypes` and `optional:paramtypes`; and the marks of handlers. Since 6.0; test/nest/unprotected.test.ts looks at
 * all of it on Nest 10, 11 and 12.
 * Without it such a limit is inert in silence, as a class is not told of its framework.
 */

/** What RateLimitModule provides, so that the guard knows of it. */
export const moduleToken: symbol = Symbol.for('headgate.nest.module/1')

/** What stands on what Nest calls a guard for. */
const handlerMarks = [
  'path',
  'websockets:message_mapping',
  'microservices:pattern',
  'graphql:resolver_type',
  'graphql:resolve_property'
]

/** What `reflect-metadata` adds to `Reflect`, where it is loaded. */
interface Metadata {
  getMetadata?(key: string, target: object): unknown
  defineMetadata?(key: string, value: unknown, target: object): void
}

const metadata: Metadata = Reflect

/** Marks a class whose limits something has read by `limitsOf`. */
const readMark = 'headgate.read/1'
const guards = new WeakMap<object, object>()

/** Notes that the limits of a class are read by something else than RateLimitModule. */
export function noteReader(owner: Class): void {
  metadata.defineMetadata?.(readMark, true, owner.prototype)
}

/** Leaves the guard on the target of a decorator of TypeScript's `experimentalDecorators`. */
export function leaveGuard(target: unknown, name: unknown, descriptor: unknown): void {
  if (typeof target === 'object' && target !== null) {
    const { value } = (descriptor ??
      Object.getOwnPropertyDescriptor(target, name as string)) as PropertyDescriptor
    addGuard(guardFor(target), value)
  } else {
    const { prototype } = target as Class
    addGuard(guardFor(prototype), target)
    // They stay where another decorator puts a function in the place of the class.
    for (const method of Reflect.ownKeys(prototype))
      if (method !== 'constructor')
        addGuard(guardFor(prototype), Object.getOwnPropertyDescriptor(prototype, method)!.value)
  }
}

function addGuard(guard: object, target: unknown): void {
  if (typeof target !== 'function') return
  const others = (metadata.getMetadata?.('__guards__', target) ?? []) as readonly unknown[]
  if (!others.includes(guard)) metadata.defineMetadata?.('__guards__', [...others, guard], target)
}

function guardFor(prototype: object): object {
  const known = guards.get(prototype)
  if (known !== undefined) return known
  class PlainLimitGuard {
    constructor(hasModule?: unknown) {
      if (hasModule === undefined) checkUnread(prototype.constructor as Class)
    }

    canActivate(): true {
      return true
    }
  }
  metadata.defineMetadata?.('self:paramtypes', [{ index: 0, param: moduleToken }], PlainLimitGuard)
  metadata.defineMetadata?.('optional:paramtypes', [0], PlainLimitGuard)
  guards.set(prototype, PlainLimitGuard)
  return PlainLimitGuard
}

/** @throws HeadgateError `HEADGATE_MISUSE` for a class with handlers of Nest whose limits nobody reads */
function checkUnread(owner: Class): void {
  if (metadata.getMetadata?.(readMark, owner.prototype) !== undefined) return
  const isHandler = (method: string | symbol) =>
    handlerMarks.some((mark) => metadata.getMetadata?.(mark, owner.prototype[method]) !== undefined)
  if ([...methodsOf(owner)].some(isHandler))
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `\`@Limit\` of \`headgate\` stands on handlers of ${owner.name}, and without RateLimitModule nothing reads it: import ` +
        '`Limit` from `headgate/nest`, and RateLimitModule.forRoot({ … }) in the root module.'
    )
}
