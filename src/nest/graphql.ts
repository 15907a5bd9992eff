import type { Port } from '../http/port.js'
import { unanswered } from './unanswered.js'

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

function isRequest(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const { headers, socket } = value as { headers?: unknown; socket?: unknown }
  return typeof headers === 'object' && headers !== null && typeof socket === 'object' && socket !== null
}

function isResponse(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const { setHeader, header } = value as { setHeader?: unknown; header?: unknown }
  return typeof (setHeader ?? header) === 'function'
}

/**
 * A platform's port for resolvers. The status is left to the driver, and nothing tells what became of one resolver:
 * it stays counted.
 */
export function graphqlPort<Req, Res>(port: Port<Req, Res>): Port<Req, ResolverCall> {
  const of = (call: ResolverCall) => call.response as Res | null
  return {
    ...port,
    hasManyCalls: true,
    getHeader(call, name) {
      const response = of(call)
      return response === null ? undefined : port.getHeader(response, name)
    },
    setHeader(call, name, value) {
      const response = of(call)
      if (response !== null) port.setHeader(response, name, value)
    },
    removeHeader(call, name) {
      const response = of(call)
      if (response !== null) port.removeHeader(response, name)
    },
    ...unanswered,
    // As when parts of the answer are deferred.
    isSent(call) {
      const response = of(call)
      return response !== null && port.isSent(response)
    }
  }
}
