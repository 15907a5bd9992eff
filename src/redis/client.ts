import { badOption } from '../core/options.js'
import { commandsOf } from './ioredis-command.js'

/**
 * A client of any kind: sends one command and gives its reply. `key` is its first key, by which clusters find the
 * node; empty for a command without keys. Numbers may come as numbers or as text.
 */
export type SendCommand = (command: readonly string[], key: string) => Promise<unknown>

/** What the store needs of ioredis 5 and 6: a connection, a Sentinel's, or a cluster. */
export interface IoredisLike {
  call(command: string, ...args: string[]): Promise<unknown>
  readonly status: string
}

/** What it needs of node-redis 4 to 6: a client or a cluster. */
export interface NodeRedisLike {
  // Clients, clusters and sentinels take different arguments.
  // biome-ignore lint/suspicious/noExplicitAny: typed clients are generic in ways that no structural type matches
  sendCommand(...args: any[]): Promise<unknown>
  readonly isOpen: boolean
}

/** A client that `redisStore` takes. */
export type RedisClient = IoredisLike | NodeRedisLike | SendCommand

/** A client, as the store uses it. */
export interface Connection {
  readonly isCluster: boolean
  /** False while a command would wait in the client's own queue. */
  isReady(): boolean
  /** What tells the node that serves a slot from others. */
  nodeOf(slot: number): string
  send(command: readonly string[], key: string): Promise<unknown>
  /**
   * Sends a script call whose ticket is `command[ticketAt]`: what is there when the command is written counts, as far
   * as the client lets it.
   */
  sendCall(command: string[], key: string, ticketAt: number): Promise<unknown>
  /** What sends a command to each server that has keys; null if the client cannot name them. */
  servers(): readonly SendToServer[] | null
  /** What the client itself puts before each key. */
  readonly keyPrefix: string
  /** Calls back when something becomes of the connection. Returns what ends it. */
  listen(listeners: ConnectionListeners): () => void
}

/** What a connection tells. */
export interface ConnectionListeners {
  /** Commands can be sent. */
  readonly ready: () => void
  /** Those that were sent may be lost. */
  readonly lost: () => void
  /** It could not be made, or broke, for this reason. */
  readonly failed: (error: unknown) => void
}

/** Sends a command to one server. */
export type SendToServer = (command: readonly string[]) => Promise<unknown>

/** The parts by which clients are told apart. */
interface Anatomy {
  readonly call?: unknown
  readonly sendCommand?: unknown
  readonly status?: unknown
  readonly isReady?: unknown
  readonly isOpen?: unknown
  readonly slots?: readonly unknown[]
  readonly nodes?: unknown
  readonly nodeClient?: unknown
  readonly getMasterNode?: unknown
  readonly masters?: readonly unknown[]
  readonly options?: { readonly keyPrefix?: unknown }
  connect?(): Promise<unknown>
  on?(event: string, listener: (error?: unknown) => void): unknown
}

/**
 * The connection of a client, which is recognised by what it can do.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for what is no client
 */
export function connectionOf(client: RedisClient, isCluster: boolean): Connection {
  if (typeof client === 'function') return ofFunction(client, isCluster)
  const parts = client as Anatomy | null
  if (typeof parts === 'object' && parts !== null) {
    if (typeof parts.call === 'function' && typeof parts.status === 'string') return ofIoredis(parts)
    if (typeof parts.sendCommand === 'function') return ofNodeRedis(parts)
  }
  throw badOption(
    'client',
    client,
    'give a client of ioredis or node-redis, or a function (command, key) that sends a command and returns its reply'
  )
}

function ofFunction(send: SendCommand, isCluster: boolean): Connection {
  return {
    isCluster,
    isReady: () => true,
    nodeOf: isCluster ? String : () => '',
    send,
    sendCall: send,
    servers: () => (isCluster ? null : [(command) => send(command, '')]),
    keyPrefix: '',
    listen: () => () => {}
  }
}

function ofIoredis(client: Anatomy): Connection {
  const isCluster = typeof client.nodes === 'function'
  const call = client.call as (...command: readonly unknown[]) => Promise<unknown>
  const { keyPrefix } = client.options ?? {}
  let make: ReturnType<typeof commandsOf> = null
  const sendCall: Connection['sendCall'] = (command, _, ticketAt) => {
    make ??= commandsOf((isCluster ? mastersOf(client)[0] : client)?.constructor)
    if (make === null || typeof client.sendCommand !== 'function') return call.apply(client, command)
    return client.sendCommand(make(command, ticketAt, keyPrefix))
  }
  return {
    isCluster,
    isReady() {
      // A lazy client connects when it is first used; its queue is not to be used for that.
      if (client.status === 'wait') client.connect?.().catch(() => {})
      return client.status === 'ready'
    },
    nodeOf: isCluster
      ? (slot) => String((client.slots?.[slot] as string[] | undefined)?.[0] ?? slot)
      : () => '',
    send: (command) => call.apply(client, command as unknown[]),
    sendCall,
    servers() {
      const nodes = isCluster ? mastersOf(client) : [client]
      return nodes.map((node) => (command) => (node.call as typeof call).apply(node, command as unknown[]))
    },
    keyPrefix: String(keyPrefix ?? ''),
    listen: ({ ready, lost, failed }) => listen(client, { ready, close: lost, error: failed })
  }
}

function mastersOf(client: Anatomy): Anatomy[] {
  return (client.nodes as (role: string) => Anatomy[]).call(client, 'master')
}

function ofNodeRedis(client: Anatomy): Connection {
  const isCluster = typeof client.nodeClient === 'function'
  const isSentinel = typeof client.getMasterNode === 'function'
  const send = (client.sendCommand as (...args: readonly unknown[]) => Promise<unknown>).bind(client)
  const sendTo: Connection['send'] = isCluster
    ? (command, key) => send(key, false, command)
    : isSentinel
      ? (command) => send(false, command)
      : (command) => send(command)
  return {
    isCluster,
    isReady: () => (client.isReady ?? client.isOpen) !== false,
    nodeOf: isCluster ? (slot) => addressOf(client.slots?.[slot]) ?? String(slot) : () => '',
    send: sendTo,
    sendCall: sendTo,
    servers() {
      if (!isCluster) return [(command) => (isSentinel ? send(false, command) : send(command))]
      const clientOf = client.nodeClient as (master: unknown) => Promise<NodeRedisLike>
      return (client.masters ?? []).map(
        (master) => async (command) => (await clientOf.call(client, master)).sendCommand(command)
      )
    },
    keyPrefix: '',
    listen: ({ ready, lost, failed }) =>
      listen(client, { ready, reconnecting: lost, end: lost, error: failed })
  }
}

function addressOf(shard: unknown): string | undefined {
  return (shard as { master?: { address?: string } } | undefined)?.master?.address
}

/** Who listens to a client: many stores may share one, and it warns of many listeners. */
const audiences = new WeakMap<object, Set<Listener>[]>()

type Listener = (error?: unknown) => void

function listen(client: Anatomy, listeners: Readonly<Record<string, Listener>>): () => void {
  const events = Object.keys(listeners)
  let audience = audiences.get(client)
  if (audience === undefined) {
    audience = events.map(() => new Set())
    audiences.set(client, audience)
    audience.forEach((told, i) => {
      client.on?.(events[i]!, (error) => {
        for (const listener of told) listener(error)
      })
    })
  }
  const joined = audience
  const own = events.map(
    (event): Listener =>
      (error) =>
        listeners[event]!(error)
  )
  own.forEach((listener, i) => void joined[i]!.add(listener))
  return () => own.forEach((listener, i) => void joined[i]!.delete(listener))
}
