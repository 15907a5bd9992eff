import type { Policy } from '../core/policy.js'
import { outSize, type Verdict } from '../core/verdict.js'

/** Numbers of a verdict before those of its tiers. */
const headSize = 2

/** How many numbers of a reply a verdict takes. */
export function lengthOf(policies: readonly Policy[]): number {
  return headSize + policies.length * outSize
}

/** Reads the verdict that begins at `from` of a reply: see lua/main.lua. */
export function readVerdict(reply: readonly unknown[], from: number, policies: readonly Policy[]): Verdict {
  const flags = Number(reply[from])
  const out: number[] = []
  const end = from + lengthOf(policies)
  for (let i = from + headSize; i < end; i++) out.push(numberOf(reply[i]))
  return {
    isAllowed: (flags & 1) === 1,
    isBlocked: (flags & 2) === 2,
    charged: Number(reply[from + 1]),
    at: Number(reply[1]),
    source: 'store',
    policies,
    out
  }
}

/** Some clients are set to give numbers as text; -1 is infinity, which the protocol has no integer for. */
function numberOf(value: unknown): number {
  const number = Number(value)
  return number === -1 ? Number.POSITIVE_INFINITY : number
}
