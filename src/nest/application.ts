import type { Type } from '@nestjs/common'
import type { ApplicationConfig, HttpAdapterHost, ModulesContainer, Reflector } from '@nestjs/core'
import { HeadgateError } from '../core/errors.js'
import type { Class } from '../decorators/marks.js'
import { trustOfServer } from '../fastify/trust.js'
import type { TrustFunction } from '../http/client-address.js'
import { warn } from '../http/warnings.js'
import { deferred } from './context-gate.js'
import { RateLimitFilter } from './exception.js'
import { globalGuard, RateLimitGuard } from './guard.js'
import { HandlerLimits } from './handler-limits.js'
import { LateInterceptor } from './interceptor.js'
import { messagePort, type ProxyTrust } from './message.js'
import type { RateLimitModuleOptions } from './options.js'

/** What is there of an application before its routes are made. */
export interface Surroundings {
  readonly config: ApplicationConfig
  readonly host: HttpAdapterHost
  readonly modules: ModulesContainer
  readonly reflector: Reflector
}

/** Applications that have limits. */
const limited = new WeakSet<ApplicationConfig>()

/**
 * Builds the limits of an application and puts them around all its handlers. They stand before every other guard,
 * whatever the order of modules, and the filter behind every other, so that users' own come first.
 * @throws HeadgateError for options that cannot work, on any handler
 */
export function limitApplication(options: RateLimitModuleOptions, surroundings: Surroundings): HandlerLimits {
  const { config, host, modules, reflector } = surroundings
  if (limited.has(config))
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'RateLimitModule is imported twice with different options, so requests would be counted twice: import it once, ' +
        'and give what differs as `policies`, or in `@Limit`.'
    )
  const classes = classesOf(modules)
  const limits = new HandlerLimits(options, deferred(messagePort(trustOf(host))), labelsOf(classes.keys()))
  for (const [owner, isController] of classes) {
    const marked = limits.read(owner)
    if (marked.length > 0) checkReach(owner, marked, isController, limits.isGlobal, reflector)
  }
  limited.add(config)
  if (limits.isGlobal) config.addGlobalGuard(globalGuard(limits))
  if (limits.hasLateLimits) {
    limits.hasInterceptor = true
    config.addGlobalInterceptor(new LateInterceptor(limits))
  }
  config.addGlobalFilter(new RateLimitFilter())
  return limits
}

/** All controllers (true) and providers (false), in an order that is the same in every process. */
function classesOf(modules: ModulesContainer): Map<Class, boolean> {
  const classes = new Map<Class, boolean>()
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype } of controllers.values()) if (isClass(metatype)) classes.set(metatype, true)
    for (const { metatype, inject } of providers.values())
      if (isClass(metatype) && !inject && !classes.has(metatype)) classes.set(metatype, false)
  }
  return classes
}

function isClass(metatype: unknown): metatype is Class {
  return (
    typeof metatype === 'function' && typeof metatype.prototype === 'object' && metatype.prototype !== null
  )
}

/** Names for classes: of several with one name, each has its number. */
function labelsOf(classes: Iterable<Class>): (owner: Class) => string {
  const labels = new Map<Class, string>()
  const count = new Map<string, number>()
  const add = (owner: Class) => {
    const number = (count.get(owner.name) ?? 0) + 1
    count.set(owner.name, number)
    const label = number === 1 ? owner.name : `${owner.name}#${number}`
    labels.set(owner, label)
    return label
  }
  for (const owner of classes) add(owner)
  return (owner) => labels.get(owner) ?? add(owner)
}

/** Nest's own marks on what takes part in something else than HTTP. */
const gateway = 'websockets:is_gateway'
const pattern = 'microservices:pattern'
const resolver = 'graphql:resolver_type'
const resolve = 'graphql:resolve_property'

/** Sees to it that a guard is called for what `@Limit` stands on. */
function checkReach(
  owner: Class,
  methods: readonly string[],
  isController: boolean,
  isGlobal: boolean,
  reflector: Reflector
): void {
  const read = (key: string, target: unknown) => reflector.get<unknown>(key, target as Type)
  const isGateway = read(gateway, owner) === true
  for (const method of methods) {
    const handler: unknown = owner.prototype[method]
    const isMessage = isGateway || read(pattern, handler) !== undefined
    const isResolver = [owner, handler].some((target) =>
      [resolver, resolve].some((key) => read(key, target) !== undefined)
    )
    if (!isController && !isMessage && !isResolver && read(resolver, owner) === undefined) {
      warn(
        'HEADGATE_UNREAD_LIMIT',
        `\`@Limit\` stands on ${owner.name}.${method}, for which Nest calls no guard as far as one can see: put it on a controller, ` +
          'a resolver or a gateway, or use RateLimitService.'
      )
    } else if (
      (isMessage || !isGlobal) &&
      ![owner, handler].some((target) => isGuarded(read('__guards__', target)))
    )
      throw new HeadgateError(
        'HEADGATE_MISUSE',
        `\`@Limit\` on ${owner.name}.${method} is the one of \`headgate\`, for plain classes, and Nest calls no guard there: import it from \`headgate/nest\`.`
      )
  }
}

function isGuarded(guards: unknown): boolean {
  return (
    Array.isArray(guards) &&
    guards.some(
      (guard) =>
        guard === RateLimitGuard ||
        guard?.prototype instanceof RateLimitGuard ||
        guard instanceof RateLimitGuard
    )
  )
}

/** What the platform's own setting says of proxies, where a message has no request to ask. */
function trustOf(host: HttpAdapterHost): ProxyTrust {
  const isFastify = () => host.httpAdapter?.getType() === 'fastify'
  return {
    trust() {
      const app = host.httpAdapter?.getInstance() as { get?(name: string): unknown } | undefined
      if (app === undefined) return null
      if (isFastify()) return trustOfServer(app)
      return app.get?.('trust proxy')
        ? ((app.get('trust proxy fn') as TrustFunction | undefined) ?? null)
        : null
    },
    get option() {
      return isFastify() ? 'trustProxy' : 'trust proxy'
    }
  }
}
