import type { Call } from '../../remote/backend.js'
import type { Holding } from '../../remote/permits/holdings.js'
import { keyOf } from '../keys.js'
import type { Link } from '../link.js'
import permitSets from '../lua/permit-sets.lua'
import renew from '../lua/renew.lua'
import { scriptOf, type TimeSource } from '../scripts/script.js'
import { permitsSuffix } from './permit-rules.js'

/** Numbers of a reply before the permits: see lua/renew.lua. */
const headNumbers = 2

/** Renews permits, of all limiters, on keys of one slot: true for each that was gone. */
export async function renewPermits(
  { link, prefix, time }: { readonly link: Link; readonly prefix: string; readonly time: TimeSource },
  holdings: readonly Holding[],
  leaseMs: number,
  call: Call
): Promise<readonly boolean[]> {
  const keys = holdings.map(({ name, key }) => `${keyOf(prefix, key)}:${name}${permitsSuffix}`)
  const sets = holdings.flatMap(({ held, released }) => [
    ...[held, released].map(({ length }) => String(length)),
    ...[...held, ...released].flatMap(({ permit, cost }) => [permit, String(cost)])
  ])
  const script = scriptOf(time, [permitSets, renew])
  const reply = await link.call(call, script, keys, [String(leaseMs), ...sets])
  return reply.slice(headNumbers).map((isGone) => Number(isGone) === 1)
}
