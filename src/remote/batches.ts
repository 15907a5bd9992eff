import type { Verdict } from '../core/verdict.js'
import type { Request, Runner } from './backend.js'
import { checkedVerdicts, promised } from './contract.js'
import type { Deadline } from './deadline.js'
import type { Location } from './executor.js'
import type { Node } from './nodes.js'

interface Pending {
  /** Where the shard is, as it was found last. */
  node: Node
  readonly requests: Request[]
  readonly resolves: ((verdict: Verdict | undefined) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/**
 * Sends what is asked for in one turn of the event loop in one call per runner and shard, in the order in which it was
 * asked for.
 */
export class Batches {
  readonly #deadline: Deadline
  #waiting = new Map<Runner, Map<number, Pending>>()
  #isScheduled = false

  constructor(deadline: Deadline) {
    this.#deadline = deadline
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  add({ node, shard }: Location, request: Request): Promise<Verdict | undefined> {
    return new Promise((resolve, reject) => {
      const { runner } = request.rules
      const shards = entry(this.#waiting, runner, () => new Map<number, Pending>())
      const batch = entry(shards, shard, (): Pending => ({ node, requests: [], resolves: [], rejects: [] }))
      batch.node = node
      batch.requests.push(request)
      batch.resolves.push(resolve)
      batch.rejects.push(reject)
      if (batch.requests.length === runner.most) {
        shards.delete(shard)
        this.#send(runner, batch)
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
    for (const [runner, shards] of waiting) for (const batch of shards.values()) this.#send(runner, batch)
  }

  async #send(runner: Runner, { node, requests, resolves, rejects }: Pending): Promise<void> {
    try {
      const verdicts = await this.#deadline.call(node, async (call) =>
        checkedVerdicts(await promised('run', runner.run(requests, call)), requests)
      )
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
