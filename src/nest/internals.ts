import type { CanActivate, ExceptionFilter, NestInterceptor } from '@nestjs/common'
import type { ApplicationConfig, HttpAdapterHost, ModulesContainer, Reflector } from '@nestjs/core'
import type { Class } from '../decorators/marks.js'
import type { PeerSocket } from '../http/client-address.js'

/*
 * What we rely on of Nest, and of the transports below it, beyond their documentation. test/nest/internals.test.ts looks at
 * each on Nest 10, 11 and 12.
 */

/** What stands around all handlers of an application. */
export interface Surrounding {
  readonly guard: CanActivate | null
  readonly interceptor: NestInterceptor | null
  readonly filter: ExceptionFilter
}

/**
 * Puts a guard before every other, whatever the order of modules, an interceptor, and a filter behind every other.
 *
 * Relies on `ApplicationConfig` being a provider, on its methods that add global guards, interceptors and filters, and on
 * their being read after providers are made. Since 4.0.
 * Without the methods the application does not start.
 */
export function surround(config: ApplicationConfig, { guard, interceptor, filter }: Surrounding): void {
  if (guard !== null) config.addGlobalGuard(guard)
  if (interceptor !== null) config.addGlobalInterceptor(interceptor)
  config.addGlobalFilter(filter)
}

/**
 * All controllers (true) and providers (false), in an order that is the same in every process.
 *
 * Relies on `ModulesContainer` being a provider, and on what it tells of each class: `metatype`, and `inject` for what a
 * factory makes. Since 6.0.
 * Without `metatype` no `@Limit` is checked before its first request, and classes of one name share a counter over Redis.
 */
export function classesOf(modules: ModulesContainer): Map<Class, boolean> {
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

/**
 * Nest's own marks on what takes part in something else than HTTP. They are constants of its packages that no package
 * exports, and some of the packages may not be there. Since 6.0; those of GraphQL since @nestjs/graphql 6.0.
 * Without one of them headgate warns about a `@Limit` for which Nest does call a guard.
 */
export const marks = {
  gateway: 'websockets:is_gateway',
  subscription: 'websockets:message_mapping',
  pattern: 'microservices:pattern',
  resolver: 'graphql:resolver_type',
  field: 'graphql:resolve_property',
  reference: 'graphql:resolve_reference',
  route: 'path'
} as const

/**
 * The guards that `@UseGuards` has put on a class or a method.
 *
 * Relies on the metadata key `__guards__`. Since 4.0.
 * Without it a `@Limit` that needs such a guard is taken to have none: the application does not start.
 */
export function guardsOf(reflector: Reflector, target: unknown): readonly unknown[] {
  return reflector.get<readonly unknown[] | undefined>('__guards__', target as Class) ?? []
}

/**
 * What stands for a guard in the modules of an application: one instance for each module with handlers that have it, and
 * those that modules provide.
 *
 * Relies on what `ModulesContainer` tells of each module: `providers`, and `injectables` for what `@UseGuards` names, by
 * their classes, each with its `instance`. Since 6.0.
 * Without them `overrideGuard(RateLimitGuard)` of a testing module switches off nothing.
 */
export function instancesOfGuard(modules: ModulesContainer, guard: Class): readonly CanActivate[] {
  const found = [...modules.values()].flatMap(({ injectables, providers }) => [
    injectables.get(guard as never)?.instance,
    providers.get(guard as never)?.instance
  ])
  return found.filter((one) => typeof one === 'object' && one !== null) as unknown as readonly CanActivate[]
}

/** What is read of the options of GraphQLModule. */
interface FieldOptions {
  readonly fieldResolverEnhancers?: readonly string[]
}

/**
 * True where the application resolves fields of GraphQL without calling guards for them.
 *
 * Relies on the provider `GqlModuleOptions`. Since @nestjs/graphql 6.0.
 * Without it a `@Limit` on such a field is not warned of.
 */
export function hasUnguardedFields(modules: ModulesContainer): boolean {
  for (const { providers } of modules.values()) {
    const options = providers.get('GqlModuleOptions')?.instance as FieldOptions | null | undefined
    if (options !== undefined && !options?.fieldResolverEnhancers?.includes('guards')) return true
  }
  return false
}

/** What ends the part of a handler of paths; Fastify gives none. */
export type PathNext = (error?: unknown) => void
export type PathHandler = (request: object, response: object, next?: PathNext) => unknown

/** What is used of a platform's adapter. */
interface Adapter {
  use?: (handler: PathHandler) => unknown
  setNotFoundHandler?: (handler: PathHandler, prefix?: string, ...more: unknown[]) => unknown
}

/**
 * Puts `wrap` around the handler that answers 404, and `beside` before Express's own where Nest's stands under a prefix
 * alone. Tells, once the application has started, whether Nest has asked for that handler.
 *
 * Relies on Nest giving the handler to `setNotFoundHandler` of the adapter, which is replaced, once all modules have set
 * up theirs, and on Express having its filters behind `next`. Since 7.0.
 * Without it unknown paths are not limited, and `HEADGATE_UNLIMITED_PATHS` says so.
 */
export function aroundNotFound(
  { httpAdapter }: HttpAdapterHost,
  wrap: (handler: PathHandler) => PathHandler,
  beside: PathHandler
): () => boolean {
  const adapter = httpAdapter as unknown as Adapter | null | undefined
  // Neither have unknown paths: an application without a server, and the adapter that stands in for one in tests.
  if (!adapter || !httpAdapter.getType()) return () => true
  const set = adapter.setNotFoundHandler
  let isSet = false
  if (set !== undefined)
    adapter.setNotFoundHandler = (handler, prefix, ...more) => {
      isSet = true
      const result = set.call(adapter, wrap(handler), prefix, ...more)
      if (prefix && httpAdapter.getType() === 'express') adapter.use?.(beside)
      return result
    }
  return () => isSet
}

/** Header fields of a handshake. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>

/** What is known of whoever sent a message. */
export interface Sender {
  readonly headers: Fields
  readonly user: unknown
  readonly socket: PeerSocket | undefined
}

/** What is read of the sockets of the WebSocket adapters, and of GraphQL's subscriptions. */
interface SocketClient {
  readonly user?: unknown
  readonly data?: { readonly user?: unknown }
  readonly handshake?: { readonly headers?: Fields }
  readonly request?: { readonly headers?: Fields; readonly socket?: PeerSocket; readonly user?: unknown }
  readonly socket?: PeerSocket
  readonly _socket?: PeerSocket
}

/** What graphql-ws knows of a socket. */
interface GraphqlClient {
  readonly extra?: unknown
  readonly req?: { readonly extra?: unknown } | null
}

const none: Fields = {}

/**
 * Who sent a message over a socket.
 *
 * Relies on `handshake` and `request` of socket.io's sockets; on `_socket` of those of `ws`, which keep the request of the
 * handshake nowhere (since ws 0.5); on `extra` of graphql-ws, with the socket and its request, which Nest's drivers put
 * under `req` where users make no context of their own (since @nestjs/graphql 10).
 * Without them a message has no address: all share the key `unknown`, and `HEADGATE_NO_ADDRESS` says so.
 */
export function senderOf(client: unknown): Sender {
  const { extra, req } = (client ?? {}) as GraphqlClient
  const socket = (extra ?? req?.extra ?? client ?? {}) as SocketClient
  return {
    headers: socket.handshake?.headers ?? socket.request?.headers ?? none,
    user: socket.user ?? socket.data?.user ?? socket.request?.user,
    socket: socket.request?.socket ?? socket._socket ?? socket.socket
  }
}

/** What is read of the contexts of microservices. */
interface MessageContext {
  getSocketRef?(): { readonly netSocket?: PeerSocket; readonly socket?: PeerSocket } | undefined
  readonly user?: unknown
}

/**
 * Who sent a message to a microservice: the connection of TCP, or the peer that gRPC names. Other transports have a broker
 * between.
 *
 * Relies on `getSocketRef` of TCP's context, whose JSON socket has the connection as `netSocket` (since 7.0) or `socket`;
 * on `getPeer` of the call that gRPC gives as third argument (since @grpc/grpc-js 1.0).
 * Without them a message has no address, as above.
 */
export function transportSenderOf(context: unknown, args: readonly unknown[]): Sender {
  const client = (context ?? undefined) as MessageContext | undefined
  const reference = typeof client?.getSocketRef === 'function' ? client.getSocketRef() : undefined
  if (reference !== undefined)
    return { headers: none, user: client?.user, socket: reference.netSocket ?? reference.socket }
  const call = args[2] as { getPeer?(): unknown } | undefined
  const peer = typeof call?.getPeer === 'function' ? call.getPeer() : undefined
  const socket = typeof peer === 'string' ? { remoteAddress: peer } : undefined
  return { headers: none, user: client?.user, socket }
}
