import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { HeadgateError } from '../core/errors.js'
import { badOption, checkNames } from '../core/options.js'
import { inherit, saysLimit } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import { type Placing, placingOf } from '../decorators/limits-of.js'
import { type Class, methodMark, methodsOf } from '../decorators/marks.js'
import { gateSettings } from '../http/gate-settings.js'
import type { Host } from '../http/host.js'
import { NamedPolicies, policyOwner } from '../http/named-policies.js'
import { gatePlan } from '../http/options.js'
import { ContextGate, isHttp } from './context-gate.js'
import { isField } from './graphql.js'
import type { Message } from './message.js'
import {
  globalOf,
  type LimitStage,
  moduleOptions,
  type NestLimit,
  nestOptions,
  type RateLimitModuleOptions
} from './options.js'

/** How calls of a handler are limited. */
export interface HandlerLimit {
  readonly gate: ContextGate
  readonly stage: LimitStage
  /** True where `@Limit` says so, false for the module's own limit. */
  readonly isMarked: boolean
}

/** Any handler, as Nest's contexts name it. */
type Handler = (...args: never[]) => unknown

/** A store, which may have connections or timers to give up. */
interface Closable {
  readonly close?: () => unknown
}

/** The classes of an application that may have handlers. */
export interface AppClasses {
  readonly all: Iterable<Class>
  /** What names a class in every process. */
  label(owner: Class): string
}

/**
 * What the limits of an application are injected by: `@Limit` may be of another copy of this package than the module, as
 * bundlers and test runners load several. The version is that of what guards ask of `HandlerLimits`.
 */
export const limitsToken = Symbol.for('headgate.nest.limits/1')

/** What limits every handler of one application, found once for each. */
export class HandlerLimits {
  readonly isGlobal: boolean
  /** The module's own limit; null if it has none. */
  readonly own: HandlerLimit | null
  readonly policies: NamedPolicies<NestLimit, HandlerLimit>
  /** True where a limit is to be decided after the guards. */
  hasLateLimits = false
  /** True once an interceptor decides those. */
  hasInterceptor = false
  /** What a test has put in the place of RateLimitGuard: then that decides, and nothing is limited. */
  override: CanActivate | null = null
  readonly #options: NestLimit
  readonly #messages: Host<Message, Message>
  readonly #classes: AppClasses
  readonly #handlers = new WeakMap<Class, WeakMap<Handler, HandlerLimit | null>>()
  readonly #stores = new Set<Closable>()
  /** By name: constructors may put functions of their own in the place of methods, for each request. */
  readonly #methods = new WeakMap<Class, Map<string | symbol, HandlerLimit | null>>()
  /** Limits that all methods of a class share. */
  readonly #ofClasses = new WeakMap<Class, HandlerLimit>()
  readonly #ownGates: ContextGate[] = []
  readonly #gates: ContextGate[] = []

  /** @throws HeadgateError that names the option, the value and the fix */
  constructor(options: RateLimitModuleOptions, messages: Host<Message, Message>, classes: AppClasses) {
    if (typeof options !== 'object' || options === null || Array.isArray(options))
      throw badOption(
        'options',
        options,
        "give an object such as { limit: 100, window: '1m' }, for several limits { limits: [ … ] }"
      )
    checkNames(options, moduleOptions, 'RateLimitModule')
    const { policies = {}, global: isGlobal, ...own } = options
    this.isGlobal = globalOf('global', isGlobal)
    this.#options = own as NestLimit
    this.#messages = messages
    this.#classes = classes
    this.own = saysLimit(options) ? this.#placeOwn('RateLimitModule', { mayShare: true }) : null
    if (this.own !== null && Object.hasOwn(policies, 'default'))
      throw badOption(
        'policies.default',
        policies,
        "the module's own limit is the policy 'default': give this one another name"
      )
    this.policies = new NamedPolicies(policies, { by: '`@Limit`', owner: 'the module' }, (name, policy) =>
      this.#place(
        inherit(this.#options, policy, gateSettings),
        `policies.${name}`,
        policyOwner(name, policy),
        true
      )
    )
  }

  /** What limits a handler of a class, or null. */
  of(owner: Class, handler: Handler): HandlerLimit | null {
    const known = this.#handlers.get(owner)?.get(handler)
    return known === undefined ? this.#find(owner, handler) : known
  }

  /** The gates of all limits that there are. */
  get gates(): readonly ContextGate[] {
    return this.#gates
  }

  /** Those of the module's own limit: with `scope: 'handler'` one for each handler, and one for unknown paths. */
  get ownGates(): readonly ContextGate[] {
    return this.#ownGates
  }

  /** True for a class of the application. */
  knows(owner: Class): boolean {
    return [...this.#classes.all].includes(owner)
  }

  /** The methods of all classes that are such a function. */
  methodsThatAre(handler: Handler): (readonly [Class, string | symbol])[] {
    return [...this.#classes.all].flatMap((owner) =>
      [...methodsOf(owner)]
        .filter((method) => owner.prototype[method] === handler)
        .map((method) => [owner, method] as const)
    )
  }

  /** True where the interceptor of all handlers decides, and guards let pass. */
  isLate(limit: HandlerLimit, context: ExecutionContext): boolean {
    if (limit.stage === 'guard' || !this.hasInterceptor || (!this.isGlobal && !limit.isMarked)) return false
    const type: string = context.getType()
    // Fields are resolved after the guards of their query, and may have guards without interceptors.
    return isHttp(context) || (type === 'graphql' && !isField(context))
  }

  /** Closes the stores that can be closed. */
  async close(): Promise<void> {
    const closed = await Promise.allSettled([...this.#stores].map(async (store) => store.close?.()))
    const failed = closed.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #find(owner: Class, handler: Handler): HandlerLimit | null {
    const method = methodOf(owner, handler)
    const known = this.#methods.get(owner) ?? new Map<string | symbol, HandlerLimit | null>()
    this.#methods.set(owner, known)
    const there = known.get(method)
    const limit =
      there === undefined ? this.#limitFor(owner, String(method), placingOf(owner, method)) : there
    known.set(method, limit)
    const handlers = this.#handlers.get(owner) ?? new WeakMap<Handler, HandlerLimit | null>()
    this.#handlers.set(owner, handlers)
    handlers.set(handler, limit)
    return limit
  }

  #limitFor(owner: Class, method: string, placing: Placing | undefined): HandlerLimit | null {
    if (placing === undefined) {
      if (this.own === null || this.#options.scope !== 'handler') return this.own
      return this.#placeOwn(`RateLimitModule for ${owner.name}.${method}`, this.#ownerOf(owner, method))
    }
    const { by, limit, outer } = placing
    if (limit === false) return null
    if (typeof limit === 'string') return this.policies.of(limit)
    if (by === 'method')
      return this.#placeHandler(inherit(this.#outer(outer), limit, gateSettings), owner, method)
    const options: NestLimit = inherit(this.#options, limit, gateSettings)
    if (options.scope === 'handler') return this.#placeHandler(options, owner, method)
    const place = this.#classes.label(owner)
    const shared =
      this.#ofClasses.get(owner) ??
      this.#place(options, `@Limit of ${owner.name}`, { mayShare: false, place }, true)
    this.#ofClasses.set(owner, shared)
    return shared
  }

  /** What a method inherits: what its class says, and then the module. */
  #outer(said: Placing['outer']): object {
    if (said === undefined) return this.#options
    const own = typeof said === 'string' ? this.policies.optionsOf(said) : said
    return inherit(this.#options, own, gateSettings)
  }

  #placeHandler(options: NestLimit, owner: Class, method: string): HandlerLimit {
    return this.#place(options, `@Limit of ${owner.name}.${method}`, this.#ownerOf(owner, method), true)
  }

  /** The module's own limit, for everything or for one handler. */
  #placeOwn(where: string, owner: Owner): HandlerLimit {
    const limit = this.#place(this.#options, where, owner, false)
    this.#ownGates.push(limit.gate)
    return limit
  }

  #ownerOf(owner: Class, method: string): Owner {
    return { mayShare: false, place: `${this.#classes.label(owner)}.${method}` }
  }

  #place(
    { stage: written, scope, ...options }: NestLimit,
    where: string,
    owner: Owner,
    isMarked: boolean
  ): HandlerLimit {
    nestOptions.scope.read('scope', scope)
    const stage = nestOptions.stage.read('stage', written)
    const gate = new ContextGate(gatePlan(options as never, where, owner), this.#messages)
    if (options.store !== undefined) this.#stores.add(options.store as Closable)
    const limit = { gate, stage: stage ?? (gate.usesUser ? 'interceptor' : 'guard'), isMarked } as const
    if (limit.stage === 'interceptor') this.hasLateLimits = true
    this.#gates.push(gate)
    return limit
  }
}

/** The name of the method that a handler is: an instance may have it bound, or another function in its place. */
function methodOf(owner: Class, handler: Handler): string | symbol {
  const names = methodsOf(owner)
  for (const name of names) if (owner.prototype[name] === handler) return name
  const named = handler.name.replace(/^(bound )+/, '')
  // No method of the class says anything of its own, so it is the same for all.
  if (names.has(named) || ![...names].some((name) => methodMark(owner, name))) return named
  throw new HeadgateError(
    'HEADGATE_MISUSE',
    `${owner.name} has put a function named '${handler.name}' in the place of a method, so nobody can tell how it is limited: give it the method's name.`
  )
}
