import type { HeadgateError } from '../core/errors.js'
import { Breaker, type BreakerSettings } from '../remote/breaker.js'
import type { Connection } from './client.js'
import type { Script } from './script.js'
import { slotCount } from './slot.js'

/** What nodes go by. */
export interface NodeSettings {
  readonly breaker: BreakerSettings
  /** Told when the first node begins to fail, and (without an error) when none does any more. */
  readonly onChange: (error?: HeadgateError) => void
  /** Told when a node that has failed answers, or another has taken its place: it can be told what it missed. */
  readonly onRecovery: () => void
}

/** A server, as its link knows it. */
export class Node {
  readonly breaker: Breaker
  readonly label: string
  /**
   * The server's clock less the monotonic one of this process, as the last reply had it. Before the first, as if it
   * were that of this machine: where it is not, the server's answer tells.
   */
  clockAhead = Date.now() - performance.now()
  /** Scripts that it had lost and that are on their way to it, with what is to be done when they are there. */
  readonly loading = new Map<Script, (() => void)[]>()

  constructor(label: string, settings: BreakerSettings) {
    this.label = label
    this.breaker = new Breaker(settings)
  }
}

/** The servers that a client leads to: one, or the masters of a cluster. */
export class Nodes {
  readonly #connection: Connection
  readonly #settings: NodeSettings
  readonly #nodes = new Map<string, Node>()
  readonly #failing = new Set<Node>()
  /** When failing nodes are looked at again, on the monotonic clock. */
  #reviewAt = 0

  constructor(connection: Connection, settings: NodeSettings) {
    this.#connection = connection
    this.#settings = settings
  }

  /** True while no node is known to fail. */
  get isAvailable(): boolean {
    if (this.#failing.size > 0) this.#review()
    return this.#failing.size === 0
  }

  /** The node that serves a slot. */
  nodeOf(slot: number): Node {
    if (this.#failing.size > 0 && performance.now() >= this.#reviewAt) this.#review()
    const label = this.#connection.nodeOf(slot)
    let node = this.#nodes.get(label)
    if (node === undefined) {
      node = new Node(label, this.#settings.breaker)
      this.#nodes.set(label, node)
    }
    return node
  }

  succeed({ breaker }: Node): void {
    const { hasFailed } = breaker
    if (breaker.succeed()) this.#prune((node) => !node.breaker.isOpen)
    if (hasFailed) this.#settings.onRecovery()
  }

  fail(node: Node, error: HeadgateError): void {
    if (!node.breaker.fail()) return
    this.#failing.add(node)
    if (this.#failing.size === 1) this.#tell(error)
  }

  /** Forgets failing nodes that serve nothing any more: after a failover, nobody asks them how they are. */
  #review(): void {
    this.#reviewAt = performance.now() + this.#settings.breaker.cooldownMs
    if (!this.#connection.isCluster) return
    const serving = new Set<string>()
    for (let slot = 0; slot < slotCount; slot++) serving.add(this.#connection.nodeOf(slot))
    const gone = [...this.#failing].filter(({ label }) => !serving.has(label))
    if (gone.length === 0) return
    for (const { label } of gone) this.#nodes.delete(label)
    this.#prune((node) => gone.includes(node))
    this.#settings.onRecovery()
  }

  #prune(isDone: (node: Node) => boolean): void {
    for (const node of this.#failing) if (isDone(node)) this.#failing.delete(node)
    if (this.#failing.size === 0) this.#tell()
  }

  /** A listener that fails must not fail the decision that is being made. */
  #tell(error?: HeadgateError): void {
    try {
      this.#settings.onChange(error)
    } catch (thrown) {
      process.emitWarning(`\`onStateChange\` failed: ${thrown}`, {
        type: 'HeadgateWarning',
        code: 'HEADGATE_LISTENER_FAILED'
      })
    }
  }
}
