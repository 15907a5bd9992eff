import { HeadgateError } from '../core/errors.js'
import { badOption } from '../core/options.js'
import type { Blocked, BlocksFound } from '../core/store.js'
import type { LimiterTerms } from '../remote/backend.js'
import { PermitTier } from '../remote/permits/permit-tier.js'
import { escaped, scan, tagIn } from './clearing.js'
import type { Connection } from './clients/connection.js'
import { absence } from './failure.js'
import blocksLua from './lua/blocks.lua'
import { canDecide } from './scripts/decision-script.js'
import { layoutOf } from './scripts/layout.js'
import { scriptOf } from './scripts/script.js'
import { slotOf } from './slot.js'

/** Where the keys of a limiter are, and by what clock. */
export interface ListingParts {
  readonly connection: Connection
  readonly prefix: string
  /** Replaces the server's clock, in tests. */
  readonly clock: (() => number) | null
}

/** A ticket that never expires: what only reads may come late. */
const lastingTicket = String(Number.MAX_SAFE_INTEGER)

/** Numbers of a reply before those of the keys. */
const headNumbers = 2

/**
 * Finds the blocked keys of a limiter on all servers, in steps: by `SCAN`, and then by looking at those keys that it found.
 * A place in the list is the server and its cursor.
 */
export async function* findBlocks(
  { connection, prefix, clock }: ListingParts,
  limiter: LimiterTerms,
  after: string | null
): AsyncGenerator<BlocksFound> {
  const servers = connection.servers()
  if (servers === null)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'A function to a cluster reaches no server by itself, so it cannot list keys: give a client of ioredis or node-redis.'
    )
  const pattern = `${escaped(`${connection.keyPrefix}${prefix}{`)}*}:${escaped(limiter.name)}`
  const look = lookerAt(connection, limiter, clock)
  let { server, cursor } = placeOf(after)
  while (server < servers.length) {
    const { keys, next } = await scan(connection, servers[server]!, pattern, cursor)
    yield { blocks: [], next: `${server}:${cursor}` }
    cursor = next
    if (cursor === '0') server++
    const blocks = await look(keys.map((key) => key.slice(connection.keyPrefix.length)))
    yield { blocks, next: server < servers.length ? `${server}:${cursor}` : null }
  }
}

function placeOf(after: string | null): { readonly server: number; readonly cursor: string } {
  const [, server, cursor] = /^(\d{1,5}):(\d{1,20})$/.exec(after ?? '0:0') ?? []
  if (server !== undefined && cursor !== undefined) return { server: Number(server), cursor }
  throw badOption('after', after, 'give the `next` of the page before')
}

/** What tells which of some keys are blocked. */
function lookerAt(connection: Connection, limiter: LimiterTerms, clock: (() => number) | null) {
  const { text } = scriptOf(clock === null ? 'server' : 'given', [blocksLua])
  const shape = shapeOf(limiter)
  return async (keys: readonly string[]): Promise<Blocked[]> => {
    if (keys.length === 0) return []
    if (!connection.isReady()) throw absence()
    // Keys of several slots must not be in one call.
    const groups = new Map<number, string[]>()
    for (const key of keys) {
      const slot = connection.isCluster ? slotOf(tagIn(key)) : 0
      groups.set(slot, [...(groups.get(slot) ?? []), key])
    }
    const found = await Promise.all(
      [...groups.values()].map(async (group) => {
        const ticket = clock === null ? lastingTicket : String(clock())
        const command = ['EVAL', text, String(group.length), ...group, ticket, ...shape]
        const reply = (await connection.send(command, group[0]!)) as readonly unknown[]
        return group.flatMap((key, i) => blockedAs(tagIn(key), Number(reply[headNumbers + i])))
      })
    )
    return found.flat()
  }
}

function blockedAs(key: string, leftMs: number): Blocked[] {
  if (leftMs === 0) return []
  return [{ key, remainingMs: leftMs === -1 ? Number.POSITIVE_INFINITY : leftMs }]
}

/** How the keys of a limiter are written: see lua/blocks.lua. */
function shapeOf(limiter: LimiterTerms): readonly string[] {
  const tier = PermitTier.of(limiter.policies)
  const windows = tier?.windowsOf(limiter.policies) ?? limiter.policies
  if (!canDecide(windows)) return ['0', String(windows.length)]
  const { slots, isApart } = layoutOf({ ...limiter, policies: tier?.hasWindows === false ? [] : windows })
  const numbers = slots.reduce((sum, count, i) => (isApart[i] ? sum : sum + count + timeNumbers), 0)
  return [String(numbers * 8), '']
}

/** Numbers of a tier before its strategy's. */
const timeNumbers = 2
