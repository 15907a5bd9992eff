import type { Type } from '@nestjs/common'
import type { ModulesContainer, Reflector } from '@nestjs/core'
import { HeadgateError } from '../core/errors.js'
import { warn } from '../core/warn.js'
import { placingOf } from '../decorators/limits-of.js'
import { type Class, methodsOf } from '../decorators/marks.js'
import { guardMark } from './guard.js'
import { classesOf, guardsOf, hasUnguardedFields, marks } from './internals.js'

/** What stands on every method that Nest calls a guard for. */
const handlerMarks = [
  marks.route,
  marks.subscription,
  marks.pattern,
  marks.resolver,
  marks.field,
  marks.reference
]

/** What tells whether Nest calls a guard for a class. */
interface Reach {
  readonly isController: boolean
  readonly isGlobal: boolean
  readonly reflector: Reflector
}

/** Sees to it that a guard is called for what `@Limit` stands on. */
export function checkReach(
  owner: Class,
  methods: readonly (string | symbol)[],
  { isController, isGlobal, reflector }: Reach
): void {
  const has = (key: string, ...targets: unknown[]) =>
    targets.some((target) => reflector.get<unknown>(key, target as Type) !== undefined)
  for (const method of methods) {
    const handler: unknown = owner.prototype[method]
    const name = `${owner.name}.${String(method)}`
    const isMessage = has(marks.gateway, owner) || has(marks.pattern, handler)
    const isResolver = has(marks.resolver, owner, handler) || has(marks.field, handler)
    const isCalled =
      placingOf(owner, method)?.by !== 'method' || handlerMarks.some((key) => has(key, handler))
    if ((!isController && !isMessage && !isResolver) || !isCalled)
      warn(
        'HEADGATE_UNREAD_LIMIT',
        `\`@Limit\` stands on ${name}, for which Nest calls no guard as far as one can see: put it on a ` +
          'handler of a controller, a resolver or a gateway, or use RateLimitService.'
      )
    else if ((isMessage || !isGlobal) && !hasOurGuard(reflector, owner) && !hasOurGuard(reflector, handler))
      throw new HeadgateError(
        'HEADGATE_MISUSE',
        `\`@Limit\` on ${name} has put no guard there: import it from \`headgate/nest\`, and write it above ` +
          'decorators that replace the method.'
      )
  }
}

/** True where `@UseGuards`, or our `@Limit`, has put the guard on a class or a method. */
export function hasOurGuard(reflector: Reflector, target: unknown): boolean {
  return guardsOf(reflector, target).some(isOurs)
}

/** True for the guard itself and for those that extend it, as a class or an instance. */
function isOurs(guard: unknown): boolean {
  const owner = typeof guard === 'object' && guard !== null ? guard.constructor : guard
  return typeof owner === 'function' && guardMark in owner
}

/** Warns of `@Limit` on fields of GraphQL, for which Nest calls guards only where it is told to. */
export function warnOfUnguardedFields(modules: ModulesContainer, reflector: Reflector): void {
  if (!hasUnguardedFields(modules)) return
  for (const field of markedFields(modules, reflector))
    warn(
      'HEADGATE_UNREAD_LIMIT',
      `\`@Limit\` stands on ${field}, a field for which Nest calls no guards: give GraphQLModule ` +
        "`fieldResolverEnhancers: ['guards']`, or limit the queries that lead to it."
    )
}

function markedFields(modules: ModulesContainer, reflector: Reflector): string[] {
  return [...classesOf(modules).keys()].flatMap((owner) =>
    [...methodsOf(owner)]
      .filter((method) => placingOf(owner, method)?.by === 'method')
      .filter((method) => reflector.get(marks.field, owner.prototype[method]))
      .map((method) => `${owner.name}.${String(method)}`)
  )
}
