import type { ExecutionContext } from '@nestjs/common'
import type { PeerSocket, TrustedHops } from '../http/client-address.js'
import type { Host } from '../http/host.js'
import type { RequestRateLimit } from '../http/request-rate-limit.js'
import { type Fields, type Sender, senderOf, transportSenderOf } from './internals.js'
import { withoutResponse } from './without-response.js'

/** The proxies that the server of the application trusts, for messages over its sockets. */
export interface ProxyTrust {
  /** The platform's setting as a function; null where it trusts nobody. */
  trust(): TrustedHops | null
  readonly option: string
}

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
    let sender: Sender
    if (this.type === 'rpc') {
      const rpc = context.switchToRpc()
      this.data = rpc.getData()
      this.client = rpc.getContext()
      sender = transportSenderOf(this.client, context.getArgs())
    } else {
      this.data = context.getArgByIndex(1)
      this.client = context.getArgByIndex(this.type === 'ws' ? 0 : 2)
      sender = senderOf(this.client)
    }
    this.headers = sender.headers
    this.user = sender.user
    this.socket = sender.socket
  }
}

/** For guards that know of no server. */
export const trustsNobody: ProxyTrust = { trust: () => null, option: 'trust proxy' }

/** Messages have no response: what would be set on one is left out. */
export function messageHost({ trust, option }: ProxyTrust): Host<Message, Message> {
  return {
    ...withoutResponse,
    method: () => '',
    header: ({ headers }, name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
    hasBody: () => true,
    socket: (message) => message.socket,
    trust,
    ip: () => undefined,
    trustSetting: () => undefined,
    trustOption: option,
    setRecord(message, record) {
      message.rateLimit = record
    }
  }
}
