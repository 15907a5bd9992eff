import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fingerprint } from '../../src/memory/fingerprint.js'
import { Attachment } from '../../src/shared/attachment.js'
import { SharedMemory } from '../../src/shared/memory.js'
import { permitUnits, SharedPermits } from '../../src/shared/permits.js'
import { threadInts } from '../../src/shared/slots.js'

const maxKeys = 40
const keys = ['a', 'b', 'c', 'd']
const limit = 7
const atOnce = 5
const begin = threadInts / 2

/** Runs, of up to 200 calls each. */
const runs = Number(process.env.PERMIT_RUNS ?? 1000)

/** What ends a call amid an instruction, as if its thread had been killed. */
class Killed extends Error {}

/** A buffer, and threads that are attached to it. All of them are this one, and are told apart by invented ids. */
class World {
  readonly #buffer = new SharedArrayBuffer(8 * (begin + permitUnits(maxKeys)))
  readonly #ints = new Int32Array(this.#buffer)
  #nextId = 1000
  readonly threads = Array.from({ length: atOnce }, () => this.attach())

  attach() {
    const memory = new SharedMemory(this.#buffer)
    const attachment: Attachment = new Attachment(memory.ints, 0, (slot) => permits.releaseAll(slot))
    memory.attachment = attachment
    const permits = new SharedPermits(memory, begin, maxKeys, new Fingerprint(Int32Array.of(5, 6, 7, 8)))
    const id = this.#nextId++
    this.#ints[attachment.slot] = id + 1
    return { permits, attachment, id, has: new Map(keys.map((key) => [key, 0])) }
  }

  /** What all threads have of a key, by what they were answered. */
  out(key: string): number {
    return this.threads.reduce((sum, { has }) => sum + has.get(key)!, 0)
  }

  /** Puts a new thread in the place of one that has ended. */
  replace(i: number): void {
    const { id } = this.threads[i]!
    this.threads[(i + 1) % atOnce]!.attachment.clearAfter(id)
    this.threads[i] = this.attach()
  }
}

interface Step {
  readonly kind: 'take' | 'release' | 'leave' | 'kill'
  readonly thread: number
  readonly key: string
  readonly cost: number
  /** At which atomic instruction something happens: another step, or its end. */
  readonly at: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 10, arbitrary: fc.constant('take' as const) },
    { weight: 8, arbitrary: fc.constant('release' as const) },
    { weight: 1, arbitrary: fc.constant('leave' as const) },
    { weight: 1, arbitrary: fc.constant('kill' as const) }
  ),
  thread: fc.nat(atOnce - 1),
  key: fc.constantFrom(...keys),
  cost: fc.integer({ min: 1, max: 3 }),
  at: fc.nat(30)
})

const atomic = ['load', 'store', 'add', 'sub', 'or', 'compareExchange'] as const

/** Has `act` called before the `at`-th atomic instruction of a call, if there are as many. */
function amid<T>(at: number, act: () => void, call: () => T): T {
  const real = Object.fromEntries(atomic.map((name) => [name, Atomics[name]]))
  let count = 0
  const restore = () => Object.assign(Atomics, real)
  for (const name of atomic)
    Object.assign(Atomics, {
      [name]: (...args: unknown[]) => {
        if (count++ === at) {
          restore()
          act()
        }
        return (real[name] as (...args: unknown[]) => unknown)(...args)
      }
    })
  try {
    return call()
  } finally {
    restore()
  }
}

function play(world: World, { kind, thread: i, key, cost, at }: Step, others: Step[]): void {
  const thread = world.threads[i]!
  let isAlone = true
  const meanwhile = () => {
    const other = others.find((next) => next.thread !== i && next.kind !== 'leave' && next.kind !== 'kill')
    if (other === undefined) return
    isAlone = false
    play(world, other, [])
  }
  if (kind === 'leave') {
    thread.attachment.leave()
    world.threads[i] = world.attach()
  } else if (kind === 'kill') {
    const kill = () => {
      throw new Killed()
    }
    try {
      amid(at, kill, () =>
        cost === 1 ? thread.permits.release(key, 1, 1) : thread.permits.take(key, cost, limit)
      )
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
    world.replace(i)
  } else if (kind === 'take') {
    const before = world.out(key)
    const isTaken = amid(at, meanwhile, () => thread.permits.take(key, cost, limit)) > 0
    if (isAlone) expect(isTaken).toBe(before + cost <= limit)
    if (isTaken) thread.has.set(key, thread.has.get(key)! + cost)
  } else {
    amid(at, meanwhile, () => thread.permits.release(key, 1, cost))
    thread.has.set(key, Math.max(0, thread.has.get(key)! - cost))
  }
}

describe('permits of interleaved threads', () => {
  it('are those that a simple count has, whatever happens amid a call', { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 200, size: 'max' }), (steps) => {
        const world = new World()
        for (const [i, next] of steps.entries()) {
          play(world, next, steps.slice(i + 1, i + 4))
          const { permits } = world.threads[i % atOnce]!
          const counts = keys.map((key) => permits.count(key))
          if (counts.some((count, i) => count > limit || count !== world.out(keys[i]!)))
            expect(counts).toEqual(keys.map((key) => world.out(key)))
        }
        expect(world.threads[0]!.permits.size()).toBe(keys.filter((key) => world.out(key) > 0).length)
        for (let i = 0; i < atOnce; i++) world.replace(i)
        expect(world.threads[0]!.permits.size()).toBe(0)
      }),
      { numRuns: runs }
    )
  })
})
