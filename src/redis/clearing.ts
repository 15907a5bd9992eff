import { HeadgateError } from '../core/errors.js'
import type { Connection, SendToServer } from './clients/connection.js'
import { absence } from './failure.js'
import { permitsSuffix } from './permits/permit-rules.js'
import { slotOf } from './slot.js'

/** Keys that a server looks at in one step, and those that it is told to unlink at once. */
const keysAtOnce = 256

/**
 * Unlinks the keys of a limiter, or of a store for null, on all servers: a few at a time, so that no server is held up by
 * many (never `KEYS`, which holds it up, nor `FLUSHDB`, which forgets what is others').
 */
export async function* clearKeys(
  connection: Connection,
  prefix: string,
  name: string | null
): AsyncGenerator<void> {
  const servers = connection.servers()
  if (servers === null)
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      'A function to a cluster reaches no server by itself, so it cannot be cleared: give a client of ioredis or node-redis.'
    )
  const begin = `${connection.keyPrefix}${prefix}{`
  for (const server of servers)
    for await (const keys of scanAll(connection, server, `${escaped(begin)}*`)) {
      yield
      const own = keys
        .filter((key) => isOf(key, begin, name))
        .map((key) => key.slice(connection.keyPrefix.length))
      if (own.length > 0) await unlink(connection, own)
      yield
    }
}

async function* scanAll(
  connection: Connection,
  server: SendToServer,
  pattern: string
): AsyncGenerator<readonly string[]> {
  let cursor = '0'
  do {
    const { keys, next } = await scan(connection, server, pattern, cursor)
    cursor = next
    yield keys
  } while (cursor !== '0')
}

/** One step of a walk over the keys of a server: some of them, and the cursor of the next step, `'0'` after the last. */
export async function scan(
  connection: Connection,
  server: SendToServer,
  pattern: string,
  cursor: string
): Promise<{ readonly keys: readonly string[]; readonly next: string }> {
  // A client without a connection would send it later, and forget what is counted by then.
  if (!connection.isReady()) throw absence()
  const reply = await server(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(keysAtOnce)])
  const [next, keys] = reply as [unknown, unknown[]]
  return { keys: keys.map(String), next: String(next) }
}

async function unlink(connection: Connection, keys: readonly string[]): Promise<void> {
  if (!connection.isReady()) throw absence()
  const groups = new Map<number, string[]>()
  for (const [i, key] of keys.entries()) {
    // Keys of several slots must not be in one command.
    const group = connection.isCluster ? slotOf(tagIn(key)) : Math.floor(i / keysAtOnce)
    groups.set(group, [...(groups.get(group) ?? []), key])
  }
  await Promise.all([...groups.values()].map((group) => connection.send(['UNLINK', ...group], group[0]!)))
}

/** The hash tag of a key. */
export function tagIn(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'))
}

/** What follows a limiter's name in the keys of its tiers, leases and payments. No digest of a name is as long as these. */
const more = /^(?:\d+|lease|paid:[\w-]{16,})$/

/** True for all keys of a limiter. The hash tag, and what is before it, have no braces. */
function isOf(key: string, begin: string, name: string | null): boolean {
  const end = key.indexOf('}:', begin.length)
  if (!key.startsWith(begin) || end < 0) return false
  // What is in flight stays in flight.
  if (key.endsWith(permitsSuffix)) return false
  if (name === null) return true
  const rest = key.slice(end + 2)
  return rest === name || (rest.startsWith(`${name}:`) && more.test(rest.slice(name.length + 1)))
}

/** A text as a glob that matches nothing else. */
export function escaped(text: string): string {
  return text.replace(/[*?[\]\\^]/g, '\\$&')
}
