import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import type { Limiter, WindowOptions } from '../../../src/index.js'
import { createLimiter } from '../../../src/limiter/create-limiter.js'
import { type SharedHandle, sharedStore } from '../../../src/shared/index.js'
import { perform } from './history.js'
import { type PermitWork, workWithPermits } from './permit-work.js'
import { seen, uniformRules } from './uniform.js'

/** What a thread is to do. Clocks and results are in buffers of the test. */
export type Work = { readonly handle: SharedHandle; readonly clock: BigInt64Array } & (
  | {
      readonly kind: 'saturate'
      readonly policy: WindowOptions
      readonly keys: readonly string[]
      readonly admitted: Int32Array
      readonly decisions: Int32Array
      readonly end: number
      readonly tickMs: number
    }
  | {
      readonly kind: 'storm'
      readonly policies: readonly WindowOptions[]
      readonly keys: readonly string[]
      readonly admitted: Int32Array
      /** How often it came around, in threads that are not to be killed. */
      readonly progress: Int32Array | null
      readonly seed: number
    }
  | {
      readonly kind: 'hit'
      readonly policy: WindowOptions
      readonly keys: readonly string[]
      readonly count: number
      /** Stay until it is terminated. */
      readonly stays?: boolean
    }
  | { readonly kind: 'uniform'; readonly gate: Int32Array; readonly count: number }
  | {
      readonly kind: 'history'
      readonly policy: WindowOptions
      readonly gate: Int32Array
      readonly threads: number
      readonly rounds: number
      readonly seed: number
    }
)

/** What a thread is told before the store has come to it. */
export interface LateWork {
  readonly kind: 'late'
  readonly policy: WindowOptions
}

function limiterFor({ handle, clock }: Work, policy: WindowOptions): Limiter {
  return createLimiter({
    ...policy,
    store: sharedStore({ from: handle }),
    now: () => Number(Atomics.load(clock, 0))
  })
}

/** Asks for every key until all are denied at one instant, then moves the clock on: so nobody goes short of a unit. */
function saturate(work: Work & { kind: 'saturate' }): void {
  const limiter = limiterFor(work, work.policy)
  const { keys, clock, admitted, decisions, end, tickMs } = work
  for (;;) {
    const now = Atomics.load(clock, 0)
    let isSpent = true
    for (let i = 0; i < keys.length; i++)
      if (limiter.consume(keys[i]!).allowed) {
        Atomics.add(admitted, i, 1)
        isSpent = false
      }
    Atomics.add(decisions, 0, keys.length)
    if (!isSpent) continue
    if (Number(now) >= end) return
    Atomics.compareExchange(clock, 0, now, now + BigInt(tickMs))
  }
}

/** Hammers until it is killed: some keys whose window does not end, and a crowd whose windows do. */
function storm(work: Work & { kind: 'storm' }): void {
  const store = sharedStore({ from: work.handle })
  const now = () => Number(Atomics.load(work.clock, 0))
  const [steady, churning] = work.policies.map((policy) => createLimiter({ ...policy, store, now }))
  const { keys, admitted, progress, clock } = work
  let state = work.seed
  parentPort!.postMessage('ready')
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const i = (state >>> 8) % keys.length
    if (steady!.consume(keys[i]!).allowed) Atomics.add(admitted, i, 1)
    churning!.consume(`crowd ${(state >>> 8) % 500}`)
    if (state >>> 28 === 0) churning!.refund(`crowd ${(state >>> 8) % 500}`)
    if (state >>> 22 === 0) Atomics.add(clock, 0, 1n)
    if (progress === null) continue
    Atomics.add(progress, 0, 1)
    // The others need a core to start on.
    if (state >>> 21 === 0) Atomics.wait(progress, 1, 0, 2)
  }
}

function hit(work: Work & { kind: 'hit' }): void {
  const limiter = limiterFor(work, work.policy)
  const admitted = work.keys.map(() => 0)
  for (let n = 0; n < work.count; n++)
    work.keys.forEach((key, i) => {
      if (limiter.consume(key).allowed) admitted[i]!++
    })
  parentPort!.postMessage(admitted)
  if (work.stays) parentPort!.on('message', () => {})
}

/** Looks and charges at once with another, and counts the numbers that were not written together. */
function uniform(work: Work & { kind: 'uniform' }): void {
  const limiter = limiterFor(work, { strategy: uniformRules, limit: 1_000_000_000, window: '1h' })
  Atomics.add(work.gate, 0, 1)
  while (Atomics.load(work.gate, 0) < 2);
  for (let i = 0; i < work.count; i++) {
    limiter.consume('key')
    limiter.peek('key')
  }
  parentPort!.postMessage(seen.torn)
}

async function late({ policy }: LateWork): Promise<void> {
  const coming = new Promise<SharedHandle>((resolve) => {
    parentPort!.once('message', resolve)
  })
  const limiter = createLimiter({ ...policy, store: sharedStore({ from: coming }) })
  try {
    limiter.consume('key')
  } catch (error) {
    parentPort!.postMessage({ ...(error as object), message: (error as Error).message })
  }
  await coming
  parentPort!.postMessage({ ...limiter.consume('key') })
}

if (!isMainThread) {
  const work = workerData as Work | LateWork | PermitWork
  if (work.kind === 'saturate') saturate(work)
  else if (work.kind === 'storm') storm(work)
  else if (work.kind === 'hit') hit(work)
  else if (work.kind === 'uniform') uniform(work)
  else if (work.kind === 'late') await late(work)
  else if (work.kind === 'history') parentPort!.postMessage(perform(limiterFor(work, work.policy), work))
  else await workWithPermits(work)
}
