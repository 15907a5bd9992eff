import { monotonicMs } from '../../remote/time/own-time.js'
import { slotCount } from '../slot.js'
import type { SendCommand } from './client.js'
import type { Connection } from './connection.js'

/** How often a cluster is asked for its nodes, at the most. */
const learnMs = 1000

/** The connection of a client that is a function. */
export function ofFunction(send: SendCommand, isCluster: boolean): Connection {
  const nodes = isCluster ? new LearntNodes(send) : null
  const sendAndLearn = async (command: readonly string[], key: string) => {
    try {
      return await send(command, key)
    } catch (error) {
      nodes?.learn()
      throw error
    }
  }
  return {
    isCluster,
    isReady: () => true,
    nodeOf: (slot) => nodes?.of(slot) ?? '',
    send: sendAndLearn,
    sendCall: sendAndLearn,
    servers: () => (isCluster ? null : [(command) => send(command, '')]),
    keyPrefix: '',
    listen: () => () => {}
  }
}

/**
 * Which node serves a slot of a cluster, as the cluster says once something has failed: so that what fails together has
 * one breaker. Until then, and if it does not say, all slots count as one node's.
 */
class LearntNodes {
  readonly #send: SendCommand
  #labels: string[] = []
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(send: SendCommand) {
    this.#send = send
  }

  of(slot: number): string {
    return this.#labels[slot] ?? ''
  }

  learn(): void {
    const now = monotonicMs()
    if (now - this.#askedAt < learnMs) return
    this.#askedAt = now
    this.#ask().catch(() => {})
  }

  async #ask(): Promise<void> {
    const ranges = (await this.#send(['CLUSTER', 'SLOTS'], '')) as [unknown, unknown, unknown[]][]
    const labels = new Array<string>(slotCount).fill('')
    for (const [first, last, master] of ranges)
      labels.fill(master.slice(0, 2).join(':'), Number(first), Number(last) + 1)
    this.#labels = labels
  }
}
