import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import { expressHost } from '../hosts/express/host.js'
import { fastifyHost } from '../hosts/fastify/host.js'
import { isReply } from '../hosts/fastify/internals.js'
import { hostOf } from '../hosts/host-of.js'
import type { Host } from '../http/host.js'
import { withoutResponse } from './without-response.js'

/** One call of a resolver: its request, and the response if the context has it. */
export interface ResolverCall {
  readonly request: object
  readonly response: object | null
}

/** What drivers and users put into the context of GraphQL. */
interface GraphqlContext {
  readonly req?: { readonly headers?: unknown } | undefined
  readonly request?: { readonly headers?: unknown } | undefined
  readonly reply?: { readonly request?: { readonly headers?: unknown } } | undefined
  readonly res?: object | undefined
  readonly response?: object | undefined
}

/** The request and response in a context of GraphQL; null where there is none, as in subscriptions. */
export function resolverCall(context: unknown): ResolverCall | null {
  if (typeof context !== 'object' || context === null) return null
  const { req, request = req, reply, res, response = res } = context as GraphqlContext
  const found = [req, request, reply?.request].find(isRequest)
  if (found === undefined) return null
  return { request: found, response: [res, response, reply].find(isResponse) ?? null }
}

/** True for a field of a type, false for a query, mutation or subscription. */
export function isField(context: ExecutionContext): boolean {
  const info = context.getArgByIndex<{ path?: { prev?: unknown } } | undefined>(3)
  return info?.path?.prev !== undefined
}

function isRequest(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const { headers, socket } = value as { headers?: unknown; socket?: unknown }
  return typeof headers === 'object' && headers !== null && typeof socket === 'object' && socket !== null
}

function isResponse(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const { getHeader, setHeader, removeHeader } = value as Partial<ServerResponse>
  const isNode = [getHeader, setHeader, removeHeader].every((method) => typeof method === 'function')
  return isNode || isReply(value)
}

/** The hosts of resolvers, by the framework of the request. */
const hosts = { express: resolverHost(expressHost), fastify: resolverHost(fastifyHost) }

/** The host of a resolver. */
export function graphqlHost(request: object): Host<object, ResolverCall> {
  return ('raw' in request ? hosts.fastify : hosts.express) as Host<object, ResolverCall>
}

/**
 * A framework's host for resolvers. The status is left to the driver, and nothing tells what became of one resolver:
 * it stays counted.
 */
function resolverHost<Req, Res>(host: Host<Req, Res>): Host<Req, ResolverCall> {
  // By the response itself: a context may have Fastify's request and Node's response, or the other way round.
  return {
    ...host,
    ...withoutResponse,
    headerNames({ response }) {
      return response === null ? [] : hostOf(response).headerNames(response)
    },
    getHeader({ response }, name) {
      return response === null ? undefined : hostOf(response).getHeader(response, name)
    },
    setHeaders({ response }, names, values) {
      if (response !== null) hostOf(response).setHeaders(response, names, values)
    },
    removeHeader({ response }, name) {
      if (response !== null) hostOf(response).removeHeader(response, name)
    },
    exchangeOf: ({ response }) =>
      response === null ? null : { host: hostOf(response) as Host<never, object>, response },
    // As when parts of the answer are deferred.
    isOnWire({ response }) {
      return response !== null && hostOf(response).isOnWire(response)
    }
  }
}
