import type { HeadgateError } from '../core/errors.js'
import { warn } from '../core/warn.js'
import type { Backend } from './backend.js'
import { Breaker, type BreakerSettings } from './breaker.js'
import { checkedLabel, checkedShard } from './contract.js'
import type { Location } from './executor.js'
import { failureOf, reasonOf } from './failure.js'
import { monotonicMs } from './time/own-time.js'
import { ServerClock } from './time/server-clock.js'

/** Settings of `Nodes`. */
export interface NodeSettings {
  readonly breaker: BreakerSettings
  /** Called when the first node begins to fail, and (without an error) when none fails any more. */
  readonly onChange: (error?: HeadgateError) => void
  /** Called when a node that has failed answers, or another takes its place: what it missed can be made up for. */
  readonly onRecovery: () => void
}

/** One server of a backend. */
export class Node {
  readonly breaker: Breaker
  readonly label: string
  readonly clock = new ServerClock(Date.now() - monotonicMs())

  constructor(label: string, settings: BreakerSettings) {
    this.label = label
    this.breaker = new Breaker(settings)
  }
}

/** The servers of a backend: one, or the masters of a cluster. */
export class Nodes {
  readonly #backend: Backend
  readonly #settings: NodeSettings
  readonly #nodes = new Map<string, Node>()
  readonly #failing = new Set<Node>()
  /** Stands in for the nodes of keys that the backend cannot locate. */
  readonly #unknown: Node
  /** When failing nodes are reviewed again, on the monotonic clock. */
  #reviewAt = 0

  constructor(backend: Backend, settings: NodeSettings) {
    this.#backend = backend
    this.#settings = settings
    this.#unknown = new Node('', settings.breaker)
  }

  /** True while no node is known to fail. */
  get isAvailable(): boolean {
    if (this.#failing.size > 0) this.#review()
    return this.#failing.size === 0
  }

  /** Where a key is, as the backend says. If it cannot tell, that is a failure, which a breaker of its own counts. */
  locate(key: string): Location {
    if (this.#failing.size > 0 && monotonicMs() >= this.#reviewAt) this.#review()
    let shard = 0
    let label: string
    try {
      shard = checkedShard(this.#backend.shardOf(key))
      label = checkedLabel(this.#backend.nodeOf(shard))
    } catch (error) {
      const failure = failureOf(this.#backend.name, error)
      this.fail(this.#unknown, failure)
      return { node: this.#unknown, shard, failure }
    }
    if (this.#unknown.breaker.hasFailed) this.succeed(this.#unknown)
    return { node: this.#named(label), shard, failure: null }
  }

  #named(label: string): Node {
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

  /** Forgets failing nodes that no longer serve anything: after a failover, nothing is sent to them any more. */
  #review(): void {
    this.#reviewAt = monotonicMs() + this.#settings.breaker.cooldownMs
    const serving = this.#serving()
    if (serving === null) return
    const gone = [...this.#failing].filter((node) => node !== this.#unknown && !serving.has(node.label))
    if (gone.length === 0) return
    for (const { label } of gone) this.#nodes.delete(label)
    this.#prune((node) => gone.includes(node))
    this.#settings.onRecovery()
  }

  /** The labels of all nodes that serve anything; null if the backend cannot tell. */
  #serving(): Set<string> | null {
    try {
      return this.#backend.nodes === undefined ? null : new Set(this.#backend.nodes())
    } catch {
      return null
    }
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
      warn('HEADGATE_LISTENER_FAILED', `\`onStateChange\` failed: ${reasonOf(thrown)}`)
    }
  }
}
