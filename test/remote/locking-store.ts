import { setImmediate } from 'node:timers/promises'
import {
  type Backend,
  type BlocksFound,
  blockIn,
  type Decide,
  type LimiterTerms,
  type Locking,
  type RemoteStore,
  type RemoteStoreOptions,
  remoteStore
} from '../../src/remote/index.js'

interface Row {
  readonly text: string
  readonly expiresAt: number
}

/** A table as a database has it: each step takes a while, and a row is locked by one transaction at a time. */
class Table {
  readonly #rows = new Map<string, Row>()
  readonly #locks = new Map<string, Promise<void>>()

  ids(): readonly string[] {
    return [...this.#rows.keys()]
  }

  textOf(id: string): string {
    return this.#rows.get(id)?.text ?? ''
  }

  /** `SELECT … FOR UPDATE`, what is done with the row, and `COMMIT`, or `ROLLBACK` if that throws. */
  async transaction(id: string, change: (row: Row | undefined) => Row | undefined): Promise<void> {
    const before = this.#locks.get(id)
    const { promise, resolve: unlock } = withResolvers()
    this.#locks.set(id, promise)
    await before
    try {
      await setImmediate()
      const row = change(this.#rows.get(id))
      await setImmediate()
      if (row === undefined) this.#rows.delete(id)
      else this.#rows.set(id, row)
    } finally {
      if (this.#locks.get(id) === promise) this.#locks.delete(id)
      unlock()
    }
  }
}

function withResolvers() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** How long after its end a row is purged, ms: what a key owes nothing for may be forgotten, and need not be. */
const purgeMs = 86_400_000

/** Keeps each key in a row, and lets core decide on it while the row is locked. */
class TableBackend implements Backend {
  readonly name = 'the table'
  readonly #table: Table
  readonly #now: () => number

  constructor(now: () => number, table = new Table()) {
    this.#now = now
    this.#table = table
  }

  shardOf = () => 0
  nodeOf = () => ''

  async *clear(name: string | null): AsyncGenerator<void> {
    for (const id of this.#table.ids())
      if (name === null || id.startsWith(`${name}:`)) yield this.#table.transaction(id, () => undefined)
  }

  async *blocks(limiter: LimiterTerms, after: string | null): AsyncGenerator<BlocksFound> {
    const begin = `${limiter.name}:`
    const ids = this.#table.ids().filter((id) => id.startsWith(begin))
    for (let i = Number(after ?? 0); i < ids.length; i += 10) {
      const blocks = ids.slice(i, i + 10).map((id) => ({
        key: id.slice(begin.length),
        remainingMs: blockIn(limiter, this.#table.textOf(id), this.#now())
      }))
      await setImmediate()
      const next = i + 10 < ids.length ? String(i + 10) : null
      yield { blocks: blocks.filter(({ remainingMs }) => remainingMs > 0), next }
    }
  }

  open({ name }: LimiterTerms): Locking {
    const update = (key: string, decide: Decide) =>
      this.#table.transaction(`${name}:${key}`, (row) => {
        const now = this.#now()
        const change = decide(row !== undefined && now < row.expiresAt ? row.text : '', now)
        if (change === null) return row
        const least = change.mayShorten ? 0 : (row?.expiresAt ?? 0)
        const expiresAt = Math.max(now + change.lifeMs + purgeMs, least)
        return change.lifeMs > 0 || least > now ? { text: change.text, expiresAt } : undefined
      })
    return { update }
  }
}

export const lockingStore = (now: () => number, options: RemoteStoreOptions = {}): RemoteStore =>
  remoteStore(new TableBackend(now), { deadline: '20s', ...options })

/** Makes stores on one table, as several processes have them. */
export function lockingStores(now: () => number): (options?: RemoteStoreOptions) => RemoteStore {
  const table = new Table()
  return (options = {}) => remoteStore(new TableBackend(now, table), { deadline: '20s', ...options })
}
