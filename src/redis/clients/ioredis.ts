import { type Connection, listen } from './connection.js'
import { commandsOf } from './ioredis-command.js'

/** What is used of a client of ioredis, or of one of the nodes of a cluster. */
export interface IoredisParts {
  call(...command: readonly string[]): Promise<unknown>
  readonly status: string
  readonly options?: { readonly keyPrefix?: unknown }
  readonly slots?: readonly (readonly string[] | undefined)[]
  nodes?(role: 'master'): IoredisParts[]
  sendCommand?(command: object): Promise<unknown>
  connect?(): Promise<unknown>
  on?(event: string, listener: (error?: unknown) => void): unknown
}

/** The connection of a client of ioredis: of one server, a Sentinel's, or a cluster. */
export function ofIoredis(client: IoredisParts): Connection {
  const isCluster = typeof client.nodes === 'function'
  const keyPrefix = client.options?.keyPrefix
  const masters = () => (isCluster ? client.nodes!('master') : [client])
  const make = client.sendCommand === undefined ? null : commandsOf(client.call)
  return {
    isCluster,
    isReady() {
      // A lazy client connects when it is first used; its queue is not to be used for that.
      if (client.status === 'wait') client.connect?.().catch(() => {})
      return client.status === 'ready'
    },
    nodeOf: isCluster ? (slot) => String(client.slots?.[slot]?.[0] ?? slot) : () => '',
    send: (command) => client.call(...command),
    sendCall(command, _, ticketAt) {
      if (make === null) return client.call(...command)
      return client.sendCommand!(make(command, ticketAt, keyPrefix))
    },
    servers: () => masters().map((node) => (command) => node.call(...command)),
    keyPrefix: String(keyPrefix ?? ''),
    listen: ({ ready, lost, failed }) => listen(client, { ready, close: lost, error: failed })
  }
}
