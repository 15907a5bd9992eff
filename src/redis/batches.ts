import type { Link } from './link.js'
import { Deed } from './lua-script.js'
import type { Node } from './nodes.js'
import type { Reply } from './reply.js'
import { readReply } from './reply.js'
import type { RuleSet } from './rule-set.js'
import type { Script } from './script.js'

/** Something that is to be done with one key. */
export interface Order {
  readonly deed: Deed
  /** The key itself, then those of tiers that have their own. */
  readonly keys: readonly string[]
  readonly rules: RuleSet
  readonly cost: number
  readonly extra: string
}

/** Where an order goes. */
export interface Address {
  readonly node: Node
  readonly slot: number
  readonly script: Script
}

interface Pending {
  readonly order: Order
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
}

/** Orders a call: while the server is at one, the next is written or the last is read here (bench/redis.js). */
const mostOrders = 32

/**
 * Sends what is asked for in one turn of the event loop in one call, in the order of asking: to the one server, or for
 * each slot of a cluster.
 */
export class Batches {
  readonly #link: Link
  #waiting = new Map<Script, Map<number, Pending[]>>()
  #isScheduled = false

  constructor(link: Link) {
    this.#link = link
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  add({ node, slot, script }: Address, order: Order): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const slots = entry(this.#waiting, script, () => new Map<number, Pending[]>())
      const batch = entry(slots, slot, (): Pending[] => [])
      batch.push({ order, resolve, reject })
      if (batch.length === mostOrders) {
        slots.delete(slot)
        this.#send(node, script, batch)
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
    for (const [script, slots] of waiting)
      for (const [slot, batch] of slots) this.#send(this.#link.nodeOf(slot), script, batch)
  }

  async #send(node: Node, script: Script, batch: readonly Pending[]): Promise<void> {
    try {
      const reply = await this.#link.call(node, script, ...encode(batch))
      let at = 2
      for (const { order, resolve } of batch) {
        const read = readReply(reply, at, order.deed > Deed.lease ? 0 : order.rules.policies.length)
        at += read.length
        resolve(read)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
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

/**
 * Keys and arguments of a call: the rules that its orders go by, each once, then the orders. Equal ones in a row are
 * written once, with their number: most batches are of one kind of order.
 */
function encode(batch: readonly Pending[]): [keys: string[], args: string[]] {
  const keys: string[] = []
  const orders: string[] = []
  const numbers = new Map<RuleSet, string>()
  let run = batch[0]!.order
  let count = 0
  const endRun = () => {
    const number = entry(numbers, run.rules, () => String(numbers.size + 1))
    orders.push(String(count), String(run.deed), number, String(run.cost), run.extra)
  }
  for (const { order } of batch) {
    keys.push(...order.keys)
    if (!isLike(order, run)) {
      endRun()
      run = order
      count = 0
    }
    count++
  }
  endRun()
  const rules = [...numbers.keys()].flatMap(({ argv }) => argv)
  return [keys, [String(numbers.size), ...rules, ...orders]]
}

/** True for orders that differ in their keys alone. */
function isLike(a: Order, b: Order): boolean {
  return a.deed === b.deed && a.rules === b.rules && a.cost === b.cost && a.extra === b.extra
}
