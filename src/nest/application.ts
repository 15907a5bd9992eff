import type { ApplicationConfig, HttpAdapterHost, ModulesContainer, Reflector } from '@nestjs/core'
import { HeadgateError } from '../core/errors.js'
import type { Class } from '../decorators/marks.js'
import { trustOf } from '../hosts/express/internals.js'
import { trustOfServer } from '../hosts/fastify/internals.js'
import { RateLimitFilter } from './exception.js'
import { globalGuard } from './guard.js'
import { HandlerLimits } from './handler-limits.js'
import { markedMethods, openHandlers } from './handlers.js'
import { LateInterceptor } from './interceptor.js'
import { classesOf, surround } from './internals.js'
import { messageHost, type ProxyTrust } from './message.js'
import type { RateLimitModuleOptions } from './options.js'
import { checkReach } from './reach.js'

/** What is there of an application before its routes are made. */
export interface Surroundings {
  readonly config: ApplicationConfig
  readonly platform: HttpAdapterHost
  readonly modules: ModulesContainer
  readonly reflector: Reflector
}

/** Marks an application that has limits, of whatever copy of this package. */
const limited = Symbol.for('headgate.nest.limited/1')

/**
 * Builds the limits of an application and puts them around all its handlers. They stand before every other guard,
 * whatever the order of modules, and the filter behind every other, so that users' own come first.
 * @throws HeadgateError for options that cannot work, on any handler
 */
export function limitApplication(options: RateLimitModuleOptions, surroundings: Surroundings): HandlerLimits {
  const { config, modules, reflector } = surroundings
  if (limited in config)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'RateLimitModule is imported twice, so requests would be counted twice: import it once, ' +
        'and give what differs as `policies`, or in `@Limit`.'
    )
  const classes = classesOf(modules)
  const limits = new HandlerLimits(options, messageHost(proxyTrust(surroundings)), {
    all: [...classes.keys()],
    label: labelsOf(classes.keys())
  })
  openHandlers(limits, surroundings)
  for (const [owner, isController] of classes) {
    const marked = markedMethods(owner)
    if (marked.length > 0) checkReach(owner, marked, { isController, isGlobal: limits.isGlobal, reflector })
  }
  Object.defineProperty(config, limited, { value: true })
  limits.hasInterceptor = limits.hasLateLimits
  surround(config, {
    guard: limits.isGlobal ? globalGuard(limits) : null,
    interceptor: limits.hasLateLimits ? new LateInterceptor(limits) : null,
    filter: new RateLimitFilter()
  })
  return limits
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

/** What the platform's own setting says of proxies, where a message has no request to ask. */
function proxyTrust({ platform }: Surroundings): ProxyTrust {
  const isFastify = () => platform.httpAdapter?.getType() === 'fastify'
  return {
    trust() {
      const app: object | undefined = platform.httpAdapter?.getInstance()
      if (app === undefined) return null
      return isFastify() ? trustOfServer(app) : trustOf(app)
    },
    get option() {
      return isFastify() ? 'trustProxy' : 'trust proxy'
    }
  }
}
