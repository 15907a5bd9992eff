import { type Connection, listen } from './connection.js'

/** What is used of a client of node-redis. */
export interface NodeRedisParts {
  sendCommand(...args: readonly unknown[]): Promise<unknown>
  readonly isOpen: boolean
  readonly isReady?: boolean
  /** In version 4, whether its commands take callbacks; then those of `v4` do not. */
  readonly options?: { readonly legacyMode?: boolean }
  readonly v4?: Pick<NodeRedisParts, 'sendCommand'>
  readonly slots?: readonly ({ readonly master?: { readonly address?: string } } | undefined)[]
  readonly masters?: readonly unknown[]
  nodeClient?(master: unknown): Promise<NodeRedisParts>
  readonly getMasterNode?: unknown
  on?(event: string, listener: (error?: unknown) => void): unknown
}

/** The connection of a client of node-redis: of one server, a pool, a Sentinel's, or a cluster. */
export function ofNodeRedis(client: NodeRedisParts): Connection {
  const isCluster = typeof client.nodeClient === 'function'
  const isSentinel = typeof client.getMasterNode === 'function'
  const sender = client.options?.legacyMode === true ? client.v4! : client
  const send: Connection['send'] = isCluster
    ? (command, key) => sender.sendCommand(key, false, command)
    : isSentinel
      ? (command) => sender.sendCommand(false, command)
      : (command) => sender.sendCommand(command)
  return {
    isCluster,
    isReady: () => client.isReady ?? client.isOpen,
    nodeOf: isCluster ? (slot) => client.slots?.[slot]?.master?.address ?? String(slot) : () => '',
    send,
    sendCall: send,
    servers() {
      if (!isCluster) return [(command) => send(command, '')]
      return (client.masters ?? []).map(
        (master) => async (command) => (await client.nodeClient!(master)).sendCommand(command)
      )
    },
    keyPrefix: '',
    listen: ({ ready, lost, failed }) =>
      listen(client, { ready, reconnecting: lost, end: lost, error: failed })
  }
}
