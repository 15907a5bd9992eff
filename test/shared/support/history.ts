import type { Limiter } from '../../../src/index.js'

/** One call and its answer, with when it began and ended on a clock that all threads have in common. */
export interface Call {
  readonly kind: 'consume' | 'peek' | 'refund' | 'reset'
  readonly cost: number
  readonly begin: number
  readonly end: number
  readonly allowed: boolean
  readonly remaining: number
}

/** Calls a thread makes in a round. */
const callsPerRound = 5

const kinds = ['consume', 'consume', 'consume', 'peek', 'refund', 'reset', 'consume', 'consume'] as const

interface Rounds {
  readonly gate: Int32Array
  readonly threads: number
  readonly rounds: number
  readonly seed: number
}

/** Makes a few calls at once with other threads, again and again, each round on a key of its own. */
export function perform(limiter: Limiter, { gate, threads, rounds, seed }: Rounds): Call[][] {
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) % below
  }
  return Array.from({ length: rounds }, (_, round) => {
    Atomics.add(gate, 0, 1)
    // All begin at once; a sleeping thread would come too late.
    while (Atomics.load(gate, 0) < threads * (round + 1));
    return Array.from({ length: callsPerRound }, () =>
      timed(limiter, kinds[random(kinds.length)]!, 1 + random(3), `key ${round}`)
    )
  })
}

function timed(limiter: Limiter, kind: Call['kind'], cost: number, key: string): Call {
  const begin = instant()
  const decision =
    kind === 'consume' ? limiter.consume(key, cost) : kind === 'peek' ? limiter.peek(key) : undefined
  if (kind === 'refund') limiter.refund(key, cost)
  if (kind === 'reset') limiter.reset(key)
  const end = instant()
  return { kind, cost, begin, end, allowed: decision?.allowed ?? true, remaining: decision?.remaining ?? 0 }
}

/** Whether calls can be put in an order that agrees with when they were made and gives what they answered. */
export function isLinearizable(calls: readonly Call[], limit: number, used = 0): boolean {
  if (calls.length === 0) return true
  const firstEnd = Math.min(...calls.map(({ end }) => end))
  return calls.some((call) => {
    if (call.begin > firstEnd) return false
    const after = usedAfter(call, limit, used)
    return (
      after !== null &&
      isLinearizable(
        calls.filter((other) => other !== call),
        limit,
        after
      )
    )
  })
}

/** The units in use after a call in a fixed window, or null if it could not have answered as it did. */
function usedAfter({ kind, cost, allowed, remaining }: Call, limit: number, used: number): number | null {
  if (kind === 'refund') return Math.max(0, used - cost)
  if (kind === 'reset') return 0
  const isAdmitted = used + (kind === 'peek' ? 1 : cost) <= limit
  const after = kind === 'consume' && isAdmitted ? used + cost : used
  return allowed === isAdmitted && remaining === limit - after ? after : null
}

/** Nanoseconds on the clock of the machine, which all threads have in common. */
function instant(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e9 + nanoseconds
}
