import { parentPort, Worker } from 'node:worker_threads'
import type { ConcurrencyOptions, Permit } from '../../../src/index.js'
import { createLimiter } from '../../../src/limiter/create-limiter.js'
import { type SharedHandle, sharedStore } from '../../../src/shared/index.js'

/** How a thread ends: it is terminated, its work is done, it exits, or it throws. */
export type Ending = 'stays' | 'returns' | 'exits' | 'throws'

/** A policy under which nobody waits. */
export type Policy = ConcurrencyOptions & { readonly queue?: undefined }

interface Shared {
  readonly handle: SharedHandle
  readonly policy: Policy
}

/** What a thread is to do with permits. */
export type PermitWork =
  | (Shared & {
      readonly kind: 'take and release'
      readonly keys: readonly string[]
      /** For each key what every thread has, a byte each. */
      readonly inside: BigInt64Array
      /** Which of the bytes is this thread's. */
      readonly place: number
      /** How often more were out than the limit, and how often any were taken; and how many are out at the end. */
      readonly seen: Int32Array
      /** Calls before it ends; without end for one that is to be killed. */
      readonly count: number
      readonly seed: number
    })
  | (Shared & {
      readonly kind: 'hold'
      readonly key: string
      readonly count: number
      readonly ending: Ending
      /** Have it done by so many threads, each of which is started by the one before. */
      readonly depth?: number
    })
  | {
      readonly kind: 'wait'
      readonly handle: SharedHandle
      readonly policy: ConcurrencyOptions
      readonly key: string
    }

export async function workWithPermits(work: PermitWork): Promise<void> {
  if (work.kind === 'take and release') takeAndRelease(work)
  else if (work.kind === 'hold') hold(work)
  else await wait(work)
}

/** Takes and releases at random, and looks from outside how many all threads have. */
function takeAndRelease(work: PermitWork & { kind: 'take and release' }): void {
  const { keys, inside, place, seen, policy, count } = work
  // Before the permits of this thread come back: this listener is the first.
  process.on('exit', () => leaveAll(inside, place))
  const limiter = createLimiter({ ...policy, store: sharedStore({ from: work.handle }) })
  const held: { readonly key: number; readonly cost: number; readonly permit: Permit }[] = []
  let state = work.seed
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) % below
  }
  const byte = 1n << BigInt(8 * place)
  parentPort!.postMessage('ready')
  for (let i = 0; i < count; i++) {
    const one =
      held.length > 0 && random(8) < 4 + held.length ? held.splice(random(held.length), 1)[0]! : null
    if (one !== null) {
      Atomics.sub(inside, one.key, BigInt(one.cost) * byte)
      one.permit.release()
      continue
    }
    const key = random(keys.length)
    const cost = 1 + random(2)
    const permit = limiter.acquire(keys[key]!, cost)
    if (!permit.allowed) continue
    const out = totalOf(Atomics.add(inside, key, BigInt(cost) * byte)) + cost
    if (out > (policy.concurrency as number)) Atomics.add(seen, 0, 1)
    Atomics.add(seen, 1, 1)
    held.push({ key, cost, permit })
  }
  Atomics.add(seen, 2, held.length)
}

/** Has a thread that ends have nothing any more. */
export function leaveAll(inside: BigInt64Array, place: number): void {
  const others = BigInt.asIntN(64, ~(255n << BigInt(8 * place)))
  for (let key = 0; key < inside.length; key++) Atomics.and(inside, key, others)
}

/** What all threads have, by the bytes of a word. */
function totalOf(word: bigint): number {
  let total = 0
  for (let left = word; left > 0n; left >>= 8n) total += Number(left & 255n)
  return total
}

function hold(work: PermitWork & { kind: 'hold' }): void {
  const store = sharedStore({ from: work.handle })
  const { depth = 0, ending } = work
  if (depth > 0) {
    const inner = new Worker(new URL(import.meta.url), { workerData: { ...work, depth: depth - 1 } })
    inner.on('message', (message) => parentPort!.postMessage(message))
    return
  }
  process.on('warning', (warning) => parentPort!.postMessage((warning as Error & { code: string }).code))
  const limiter = createLimiter({ ...work.policy, store })
  const taken = Array.from({ length: work.count }, () => limiter.acquire(work.key).allowed)
  parentPort!.postMessage(taken)
  if (ending === 'stays') parentPort!.on('message', () => {})
  if (ending === 'exits') process.exit(3)
  if (ending === 'throws') throw new Error('on purpose')
}

async function wait(work: PermitWork & { kind: 'wait' }): Promise<void> {
  const limiter = createLimiter({ ...work.policy, store: sharedStore({ from: work.handle }) })
  const coming = limiter.acquire(work.key)
  parentPort!.postMessage('waiting')
  const permit: Permit = await coming
  parentPort!.postMessage({ allowed: permit.allowed })
  permit.release()
}
