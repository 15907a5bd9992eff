import type { ExecutionContext } from '@nestjs/common'
import { type ExpressRequest, expressHost } from '../hosts/express/host.js'
import { isReply } from '../hosts/fastify/internals.js'
import { hostOf, hostOfRequest } from '../hosts/host-of.js'
import { limiterBehind } from '../http/by-hand.js'
import { hold, sendBody, sendDenial, setHead } from '../http/deliver.js'
import { Gate } from '../http/gate.js'
import { type Host, isOpen } from '../http/host.js'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../http/keyed-limiter.js'
import type { GatePlan } from '../http/options.js'
import type { Denied, Outcome } from '../http/outcome.js'
import { isPromiseLike } from '../http/promise.js'
import { RateLimitException, withErrorBody } from './exception.js'
import { graphqlHost, resolverCall } from './graphql.js'
import { Message } from './message.js'
import { messageException } from './message-exceptions.js'

/** Takes what a guard is called with, of any kind, through one gate. */
export class ContextGate {
  /** The limiter behind it, by hand. */
  readonly limiter: KeyedLimiter | AsyncKeyedLimiter
  /** True where it needs `request.user`. */
  readonly usesUser: boolean
  readonly #gate: Gate<object, object>
  readonly #messages: Host<Message, Message>
  /** The contexts that were met, but for those of requests that leave a record: several guards may lead to one gate. */
  readonly #met = new WeakSet<ExecutionContext>()
  readonly #skips: boolean

  constructor(plan: GatePlan<never, never>, messages: Host<Message, Message>) {
    this.#gate = new Gate(plan as GatePlan<object, object>)
    this.#messages = messages
    this.limiter = limiterBehind(
      () => this.#gate,
      (request) => (request instanceof Message ? (messages as Host<object, never>) : hostOfRequest(request))
    )
    this.usesUser = this.#gate.usesUser
    this.#skips = plan.skip !== null
  }

  /**
   * Lets a call pass, at once or, where something is awaited, later.
   * @throws RateLimitException for a denied request; WsException or RpcException for a message
   */
  admit(context: ExecutionContext): true | Promise<true> {
    const type: string = context.getType()
    const isRequest = isHttp(context)
    // A request that is skipped leaves no record.
    if (!isRequest || this.#skips) {
      if (this.#met.has(context)) return true
      this.#met.add(context)
    }
    if (isRequest) return this.admitRequest(context.getArgByIndex(0), context.getArgByIndex(1))
    const call = type === 'graphql' ? resolverCall(context.getArgByIndex(2)) : null
    if (call === null) return this.#admitMessage(type, new Message(context))
    return pass(this.#gate, graphqlHost(call.request), call.request, call, refuseCall)
  }

  /** Lets a request of HTTP pass. */
  admitRequest(request: object, response: object): true | Promise<true> {
    return pass(this.#gate, requestHost(response), request, response, refuseRequest)
  }

  #admitMessage(type: string, message: Message): true | Promise<true> {
    const refuse = async (error: unknown): Promise<never> => {
      throw error instanceof RateLimitException ? await messageException(type, error) : error
    }
    try {
      const admitted = pass(this.#gate, this.#messages, message, message, refuseCall)
      return admitted === true ? true : admitted.catch(refuse)
    } catch (error) {
      return refuse(error)
    }
  }
}

/** Errors of Nest are JSON over Express too. */
const overExpress = {
  ...expressHost,
  denialForm: 'json',
  // Guards run on routes: what has none then is an unknown path.
  route: (request: ExpressRequest) => expressHost.route?.(request) ?? null
} as unknown as Host<object, object>

/** The host of a response of HTTP, on which errors are JSON. */
export function requestHost(response: object): Host<object, object> {
  const host = hostOf(response)
  return host.denialForm === 'json' ? host : overExpress
}

/** Throws a denial, or leaves the call waiting for ever. */
type Refuse = (denied: Denied, host: Host<object, object>, response: object) => Promise<never>

/** @throws RateLimitException for a denied request, and what the user's functions throw */
function pass<Req extends object, Res extends object>(
  gate: Gate<object, object>,
  host: Host<Req, Res>,
  request: Req,
  response: Res,
  refuse: Refuse
): true | Promise<true> {
  const leave = (outcome: Outcome): true | Promise<true> => {
    if (outcome.kind === 'passed') return true
    if (outcome.kind === 'held') return new Promise((resolve) => hold(outcome, () => resolve(true)))
    return outcome.kind === 'answered' ? forever() : refuse(outcome, host as Host<object, object>, response)
  }
  const outcome = gate.enter(host as Host<object, object>, request, response)
  return isPromiseLike(outcome) ? Promise.resolve(outcome).then(leave) : leave(outcome)
}

/** The head of the response is set before it is thrown, and the filter sends the body if no other answers. */
export function refuseRequest(
  refused: Denied,
  host: Host<object, object>,
  response: object,
  Exception: typeof RateLimitException = RateLimitException
): Promise<never> {
  const denied = withErrorBody(refused)
  const denial = denied.response
  if (!isOpen(host, response)) {
    sendDenial(host, response, denial)
    return forever()
  }
  setHead(host, response, denial)
  throw new Exception(
    denied,
    () => {
      if (isOpen(host, response)) sendBody(host, response, denial)
    },
    causeOf(refused)
  )
}

function causeOf({ response: { body } }: Denied): Error | undefined {
  return body.kind === 'error' ? body.error : undefined
}

/** Only the error tells of it. */
function refuseCall(denied: Denied, host: Host<object, object>, response: object): never {
  setHead(host, response, denied.response)
  throw new RateLimitException(denied, null)
}

/** For what has been answered: were it to end, users' filters would answer it again. */
export function forever(): Promise<never> {
  return new Promise(() => {})
}

/** True for HTTP proper: libraries give contexts of their own this type, with arguments of any kind. */
export function isHttp(context: ExecutionContext): boolean {
  if (context.getType<string>() !== 'http') return false
  const request = context.getArgByIndex<unknown>(0)
  const response = context.getArgByIndex<unknown>(1)
  return isObject(request) && isObject(request.headers) && isObject(response) && canSetHeaders(response)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** True for Node's response, which Express's is, and for Fastify's reply. */
function canSetHeaders(response: Readonly<Record<string, unknown>>): boolean {
  return typeof response.setHeader === 'function' || isReply(response)
}
