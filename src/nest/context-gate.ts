import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AsyncLimiter } from '../core/async-limiter.js'
import type { Limiter } from '../core/limiter.js'
import { type ExpressRequest, expressHost } from '../hosts/express/host.js'
import { fastifyHost, isReply } from '../hosts/fastify/host.js'
import { answered, Gate, type Outcome, passed } from '../http/gate.js'
import type { Host } from '../http/host.js'
import type { GatePlan } from '../http/options.js'
import { RequestRateLimit } from '../http/request-rate-limit.js'
import { answerOf, deferred } from './answers.js'
import { RateLimitException } from './exception.js'
import { graphqlHost, type ResolverCall, resolverCall } from './graphql.js'
import { Message } from './message.js'
import { messageException } from './message-exceptions.js'

const hosts = {
  express: deferred(expressHost),
  fastify: deferred(fastifyHost),
  graphqlExpress: graphqlHost(expressHost),
  graphqlFastify: graphqlHost(fastifyHost)
}

/** Takes what a guard is called with, of any kind, through gates that share one plan. */
export class ContextGate {
  /** The limiter behind it; null where limits or windows are computed. */
  readonly limiter: Limiter | AsyncLimiter | null
  /** True where it needs `request.user`. */
  readonly usesUser: boolean
  readonly #express: Gate<ExpressRequest, ServerResponse>
  readonly #fastify: Gate<FastifyRequest, FastifyReply>
  readonly #graphqlExpress: Gate<ExpressRequest, ResolverCall>
  readonly #graphqlFastify: Gate<FastifyRequest, ResolverCall>
  readonly #messages: Gate<Message, Message>
  /** The contexts of messages that were met: a guard may stand on a class and on its method. */
  readonly #met = new WeakSet<ExecutionContext>()

  constructor(plan: GatePlan<never, never>, messages: Host<Message, Message>) {
    // What `onLimited` would answer with, only HTTP has.
    const silent = { ...plan, onLimited: null }
    this.#express = new Gate(plan as never, hosts.express)
    this.#fastify = new Gate(plan as never, hosts.fastify)
    this.#graphqlExpress = new Gate(silent as never, hosts.graphqlExpress)
    this.#graphqlFastify = new Gate(silent as never, hosts.graphqlFastify)
    this.#messages = new Gate(silent as never, messages)
    this.limiter = this.#express.limiter
    this.usesUser = this.#express.usesUser
  }

  /**
   * Lets a call pass, at once or, where something is awaited, later.
   * @throws RateLimitException for a denied request; WsException or RpcException for a message
   */
  admit(context: ExecutionContext): true | Promise<true> {
    const type: string = context.getType()
    if (isHttp(context)) return this.admitRequest(context.getArgByIndex(0), context.getArgByIndex(1))
    if (this.#met.has(context)) return true
    this.#met.add(context)
    const call = type === 'graphql' ? resolverCall(context.getArgByIndex(2)) : null
    if (call === null) return this.#admitMessage(type, new Message(context))
    const gate = 'raw' in call.request ? this.#graphqlFastify : this.#graphqlExpress
    return pass(gate as Gate<object, ResolverCall>, call.request, call)
  }

  /** Lets a request of HTTP pass. */
  admitRequest(request: object, response: object): true | Promise<true> {
    const gate = (isReply(response) ? this.#fastify : this.#express) as unknown as Gate<object, object>
    return pass(gate, request, response)
  }

  #admitMessage(type: string, message: Message): true | Promise<true> {
    const refuse = async (error: unknown): Promise<never> => {
      throw error instanceof RateLimitException ? await messageException(type, error) : error
    }
    try {
      const admitted = pass(this.#messages, message, message)
      return admitted === true ? true : admitted.catch(refuse)
    } catch (error) {
      return refuse(error)
    }
  }
}

/** @throws RateLimitException for a denied request, and what the user's functions throw */
function pass<Req extends object, Res extends object>(
  gate: Gate<Req, Res>,
  request: Req,
  response: Res
): true | Promise<true> {
  const outcome = gate.enter(request, response)
  if (outcome === passed) return true
  const leave = (late: Outcome): true | Promise<true> => {
    if (late === passed) return true
    // Users' filters would answer it again.
    if (late === answered && isAnswered(response)) return new Promise<true>(() => {})
    if (late === answered) throw exceptionOf(request, response)
    return new Promise((resolve) => gate.hold(late, response, () => resolve(true)))
  }
  return typeof outcome === 'number' ? leave(outcome) : Promise.resolve(outcome).then(leave)
}

function exceptionOf(request: object, response: object): RateLimitException {
  const { rateLimit } = request as { rateLimit?: unknown }
  const isDecided = rateLimit instanceof RequestRateLimit && !rateLimit.allowed
  return new RateLimitException(answerOf(response), isDecided ? rateLimit : undefined)
}

/** True for HTTP proper: libraries give contexts of their own this type, with other arguments. */
export function isHttp(context: ExecutionContext): boolean {
  const response = context.getArgByIndex<unknown>(1)
  return context.getType<string>() === 'http' && typeof response === 'object' && response !== null
}

function isAnswered(response: object): boolean {
  return isReply(response)
    ? fastifyHost.isSent(response)
    : (response as Partial<ServerResponse>).headersSent === true
}
