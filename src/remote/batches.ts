import type { Verdict } from '../core/verdict.js'
import type { Request, Runner } from './backend.js'
import type { Deadline } from './deadline.js'
import type { Location } from './executor.js'
import type { Node, Nodes } from './nodes.js'

interface Pending {
  readonly requests: Request[]
  readonly resolves: ((verdict: Verdict | undefined) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/**
 * Sends what is asked for in one turn of the event loop in one call per runner and shard, in the order in which it was
 * asked for.
 */
export class Batches {
  readonly #nodes: Nodes
  readonly #deadline: Deadline
  #waiting = new Map<Runner, Map<number, Pending>>()
  #isScheduled = false

  constructor(nodes: Nodes, deadline: Deadline) {
    this.#nodes = nodes
    this.#deadline = deadline
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  add({ node, shard }: Location, request: Request): Promise<Verdict | undefined> {
    return new Promise((resolve, reject) => {
      const { runner } = request.rules
      const shards = entry(this.#waiting, runner, () => new Map<number, Pending>())
      const batch = entry(shards, shard, (): Pending => ({ requests: [], resolves: [], rejects: [] }))
      batch.requests.push(request)
      batch.resolves.push(resolve)
      batch.rejects.push(reject)
      if (batch.requests.length === runner.most) {
        shards.delete(shard)
        this.#send(node, runner, batch)
      } else if (!this.#isScheduled) {
        this.#isScheduled = true
        setImmediate(() => this.#flush())
      }
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = new Map()
    this.#isScheduled = false
    for (const [runner, shards] of waiting)
      for (const [shard, batch] of shards) this.#send(this.#nodes.of(shard), runner, batch)
  }

  async #send(node: Node, runner: Runner, { requests, resolves, rejects }: Pending): Promise<void> {
    try {
      const verdicts = await this.#deadline.call(node, (call) => runner.run(requests, call))
      for (const [i, resolve] of resolves.entries()) resolve(verdicts[i])
    } catch (error) {
      for (const reject of rejects) reject(error)
    }
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
