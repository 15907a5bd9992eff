import { warn } from '../core/warn.js'
import { monotonicMs } from '../remote/time/own-time.js'
import type { Connection, SendToServer } from './clients/connection.js'

/** How often a server is asked for its policy of eviction, at the most. */
const lookMs = 60_000

/**
 * Says that a server may evict keys: their limits begin anew, and nobody learns of it. Servers are asked as they are
 * used, and no more often than once a minute; where the user may not ask, nothing is said.
 */
export class Eviction {
  readonly #connection: Connection
  readonly #now: () => number
  /** What each server was last heard to do, in their order. */
  #known: (string | null)[] = []
  #lookAt = Number.NEGATIVE_INFINITY

  /** @param now the monotonic clock, ms; another in tests */
  constructor(connection: Connection, now = monotonicMs) {
    this.#connection = connection
    this.#now = now
  }

  /** Looks, if it is time to. */
  look(): void {
    const now = this.#now()
    if (now < this.#lookAt) return
    this.#lookAt = now + lookMs
    for (const [i, server] of (this.#connection.servers() ?? []).entries())
      policyOf(server).then(
        (policy) => this.#tell(i, policy),
        () => {}
      )
  }

  #tell(server: number, policy: string | null): void {
    const isNews = policy !== null && this.#known[server] !== policy
    this.#known[server] = policy
    if (isNews)
      warn(
        'HEADGATE_EVICTION',
        `Redis evicts keys when its memory is full (\`maxmemory-policy\` is ${policy}): the limits of evicted keys begin anew. Set \`maxmemory-policy noeviction\`, or give limits a server of their own.`
      )
  }
}

/** How a server chooses what it evicts; null if it evicts nothing. */
async function policyOf(server: SendToServer): Promise<string | null> {
  const info = String(await server(['INFO', 'memory']))
  const fieldOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  const policy = fieldOf('maxmemory_policy') ?? 'noeviction'
  return Number(fieldOf('maxmemory') ?? 0) === 0 || policy === 'noeviction' ? null : policy
}
