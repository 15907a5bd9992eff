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

/** What of either framework tells the application of a request. */
interface Served {
  readonly app?: object
  readonly server?: { readonly server?: object }
  readonly socket?: { readonly server?: object } | null
}

/** What serves a request: the application of Express, Fastify's server, or Node's where there is neither. */
export function applicationOf(request: object): object | undefined {
  const { app, server, socket } = request as Served
  return app ?? server?.server ?? socket?.server
}
