import type { Host } from '../http/host.js'
import { expressHost } from './express/host.js'
import { fastifyHost } from './fastify/host.js'
import { isReply } from './fastify/internals.js'

/** The host of a response, which may be of either framework. */
export function hostOf(response: object): Host<object, object> {
  return (isReply(response) ? fastifyHost : expressHost) as unknown as Host<object, object>
}

/** The host of a request, which may be of either framework. */
export function hostOfRequest(request: object): Host<object, never> {
  return ('raw' in request ? fastifyHost : expressHost) as unknown as Host<object, never>
}
