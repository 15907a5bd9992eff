import type { ExecutionContext } from '@nestjs/common'
import type { PeerSocket, TrustFunction } from '../http/client-address.js'
import type { Host } from '../http/host.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'
import { withoutResponse } from './without-response.js'

/** The proxies that the server of the application trusts, for messages over its sockets. */
export interface ProxyTrust {
  /** The platform's setting as a function; null where it trusts nobody. */
  trust(): TrustFunction | null
  readonly option: string
}

type Fields = Readonly<Record<string, string | string[] | undefined>>

/** What is read of the sockets of the WebSocket adapters, and of GraphQL's subscriptions. */
interface SocketClient {
  readonly user?: unknown
  readonly data?: { readonly user?: unknown }
  readonly handshake?: { readonly headers?: Fields }
  readonly request?: { readonly headers?: Fields; readonly socket?: PeerSocket; readonly user?: unknown }
  readonly socket?: PeerSocket
  /** `ws` keeps its socket here, and the request of the handshake nowhere. */
  readonly _socket?: PeerSocket
}

/** What graphql-ws knows of a socket; Nest's drivers put it under `req` where users make no context of their own. */
interface GraphqlClient {
  readonly extra?: unknown
  readonly req?: { readonly extra?: unknown } | null
}

/** What is read of the contexts of microservices. */
interface MessageContext {
  getSocketRef?(): { readonly netSocket?: PeerSocket; readonly socket?: PeerSocket } | undefined
  readonly user?: unknown
}

const none: Fields = {}

/**
 * A message to a gateway or a microservice, or a GraphQL operation without a request: what functions in options get in
 * place of a request. Each is counted for itself.
 */
export class Message {
  readonly type: string
  /** The message itself. */
  readonly data: unknown
  /** The client's socket of a gateway, the transport's context of a microservice, the context of GraphQL. */
  readonly client: unknown
  /** Fields of the handshake, where the socket knows them. */
  readonly headers: Fields
  /** Who sent it: `user` of the client, of its `data` or of its handshake. */
  readonly user: unknown
  rateLimit: RequestRateLimit | null = null
  /** @internal */
  readonly socket: PeerSocket | undefined

  /** @internal */
  constructor(context: ExecutionContext) {
    this.type = context.getType()
    if (this.type === 'rpc') {
      const rpc = context.switchToRpc()
      const client = rpc.getContext<MessageContext | undefined>()
      this.data = rpc.getData()
      this.client = client
      this.headers = none
      this.user = client?.user
      this.socket = transportSocket(client, context.getArgs())
    } else {
      const client = (this.type === 'ws' ? context.getArgByIndex(0) : context.getArgByIndex(2)) as unknown
      const { extra, req } = (client ?? {}) as GraphqlClient
      const socket = (extra ?? req?.extra ?? client ?? {}) as SocketClient
      this.data = context.getArgByIndex(1)
      this.client = client
      this.headers = socket.handshake?.headers ?? socket.request?.headers ?? none
      this.user = socket.user ?? socket.data?.user ?? socket.request?.user
      this.socket = socket.request?.socket ?? socket._socket ?? socket.socket
    }
  }
}

/** The connection of TCP; the peer that gRPC names. Other transports have a broker between. */
function transportSocket(
  client: MessageContext | undefined,
  args: readonly unknown[]
): PeerSocket | undefined {
  const reference = typeof client?.getSocketRef === 'function' ? client.getSocketRef() : undefined
  if (reference !== undefined) return reference.netSocket ?? reference.socket
  const call = args[2] as { getPeer?(): unknown } | undefined
  const peer = typeof call?.getPeer === 'function' ? call.getPeer() : undefined
  return typeof peer === 'string' ? { remoteAddress: peer } : undefined
}

/** For guards that know of no server. */
export const trustsNobody: ProxyTrust = { trust: () => null, option: 'trust proxy' }

/** Messages have no response: what would be set on one is left out. */
export function messageHost({ trust, option }: ProxyTrust): Host<Message, Message> {
  return {
    ...withoutResponse,
    method: () => '',
    header: ({ headers }, name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
    socket: (message) => message.socket,
    trust,
    trustSetting: () => undefined,
    trustOption: option,
    recordOf: (message) => message.rateLimit,
    setRecord(message, record) {
      message.rateLimit = record
    }
  }
}
