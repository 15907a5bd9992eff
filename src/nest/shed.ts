import { type CanActivate, type CustomDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { Host } from '../http/host.js'
import type { Denied, Outcome } from '../http/outcome.js'
import { isPromiseLike } from '../http/promise.js'
import { type ShedEntry, ShedGate } from '../shed/gate.js'
import { type DefaultPriority, type ShedOptions, shedPlan } from '../shed/options.js'
import type { RouteShed } from '../shed/routes.js'
import type { ShedState } from '../shed/state.js'
import type { ShedStatus } from '../shed/status.js'
import { forever, isHttp, refuseRequest, requestHost } from './context-gate.js'
import { RateLimitException } from './exception.js'
import type { NestRequest } from './options.js'

/** What handlers say of shedding. The version is that of what is kept. */
const said = Symbol.for('headgate.nest.shed/1')

/** What `@Shed` takes: the priority of a handler or of a whole controller, and what answers it when it is shed. */
export type NestShed = Exclude<RouteShed<NestRequest, unknown>, false>

/**
 * Says of a controller or a handler what priority its requests are of; what stands on a method replaces what stands on its
 * class.
 * @example
 * @Controller('payments') @Shed({ priority: 'critical' })
 * class PaymentsController {
 *   @Get('health') @Shed.skip() health() {}
 * }
 */
export const Shed: ((options: NestShed) => CustomDecorator<symbol>) & {
  /** Never shed. */
  skip(): CustomDecorator<symbol>
} = Object.assign((options: NestShed) => SetMetadata(said, options), { skip: () => SetMetadata(said, false) })

/** A guard that sheds, for `app.useGlobalGuards` or `@UseGuards`. */
export interface ShedGuard extends CanActivate {
  /** What is shed, and why: for readiness checks. */
  readonly state: ShedState
  /** Asks the health check, and gives what a status route is to answer. */
  status(): Promise<ShedStatus>
  /** Stops its timers. They do not keep the process alive. */
  close(): void
}

/**
 * A request that is shed: 503. Headers are set on the response before it is thrown. Where no exception filter answers it,
 * the body is JSON, or with `RateLimitModule` text, JSON or problem details, as the request accepts it.
 */
export class ShedException extends RateLimitException {
  readonly #wait: number | null

  /** @internal */
  constructor(denied: Denied, send: (() => void) | null, cause?: Error) {
    super(denied, send, cause)
    const { body } = denied.response
    this.#wait = body.kind === 'denial' ? body.denial.retryAfterSeconds : null
  }

  /** The wait, as in the Retry-After field; null where `onShed` answered. */
  override get retryAfterSeconds(): number | null {
    return this.#wait
  }
}

const reflector = new Reflector()

/**
 * A guard that sheds load by priority, for lack of room among the requests in flight or for the health of this worker. It
 * sheds requests of HTTP; resolvers of GraphQL, messages and other contexts pass. Make it once.
 * @example
 * app.useGlobalGuards(shed({ health: { eventLoopDelay: '100ms' } }))
 * @throws HeadgateError that names the option, the value and the fix
 */
export function shed<Req = NestRequest, Res = unknown, const P extends string = DefaultPriority>(
  options: ShedOptions<Req, Res, P>
): ShedGuard {
  const gate = new ShedGate<object, object>(shedPlan(options))
  gate.begin()
  return {
    get state() {
      return gate.state
    },
    status: () => gate.status(),
    close: () => gate.close(),
    canActivate(context) {
      if (!isHttp(context)) return true
      const own = reflector.getAllAndOverride<unknown>(said, [context.getHandler(), context.getClass()])
      return admit(gate.on(own), context)
    }
  }
}

function admit(entry: ShedEntry<object, object>, context: ExecutionContext): true | Promise<true> {
  const request = context.getArgByIndex<object>(0)
  const response = context.getArgByIndex<object>(1)
  const host = requestHost(response)
  const outcome = entry.enter(host, request, response)
  if (isPromiseLike(outcome)) return Promise.resolve(outcome).then((late) => leave(late, host, response))
  return leave(outcome, host, response)
}

function leave(outcome: Outcome, host: Host<object, object>, response: object): true | Promise<true> {
  if (outcome.kind === 'answered') return forever()
  return outcome.kind === 'denied' ? refuse(outcome, host, response) : true
}

/** @throws ShedException */
function refuse(denied: Denied, host: Host<object, object>, response: object): Promise<never> {
  return refuseRequest(denied, host, response, ShedException)
}
