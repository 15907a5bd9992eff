/** A ticket that has expired since the beginning of time. */
export const spentTicket = '0'

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

/** Something that tells of events. */
interface Emitter {
  on?(event: string, listener: Listener): unknown
}

type Listener = (error?: unknown) => void

/** Who listens to a client: many stores may share one, and it warns of many listeners. */
const audiences = new WeakMap<object, Set<Listener>[]>()

/** Has a client tell what becomes of its connection, by the names of its events. Returns what ends it. */
export function listen(client: Emitter, listeners: Readonly<Record<string, Listener>>): () => void {
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
