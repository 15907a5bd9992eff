import { warnOfLostCounters } from '../core/calendar/lost-at-restart.js'
import { Names } from '../core/names.js'
import { badOption } from '../core/options.js'
import { countsInFlight, PermitBuckets } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import type { Buckets, BucketsOptions } from '../core/store.js'
import { Fingerprint } from '../memory/fingerprint.js'
import { Permits } from '../memory/permits.js'
import { sealed } from '../memory/saving/envelope.js'
import { type NumberReader, NumberWriter } from '../memory/saving/numbers.js'
import { Attachment } from './attachment.js'
import { SharedBuckets } from './buckets.js'
import { bucketsFor, tableUnits } from './chain-table.js'
import { aligned, line, SharedMemory } from './memory.js'
import { SharedPermits } from './permits.js'
import { returnSpares, takenFrom } from './records.js'
import type { Region } from './region.js'
import { Regions, regionListInts } from './regions.js'
import { restoreRegions, saveRegions } from './saved-regions.js'
import { blockUnits } from './shared-blocks.js'
import { mostThreads, threadInts } from './slots.js'
import { warnOfUnwatched } from './thread-watch.js'

const { randomFillSync } = process.getBuiltinModule('node:crypto')

/** What a thread hands to another, by `workerData` or a message, for it to attach to the same store. */
export interface SharedHandle {
  readonly headgate: 1
  readonly buffer: SharedArrayBuffer
}

/** Marks a prepared buffer and its format; written last. */
const magic = 0x68670005

/** The whole numbers at the beginning of a buffer; after them the list of regions, and the places of threads. */
const Head = { magic: 0, isKept: 1, maxKeys: 2, seed: 4, ints: 16 } as const
const placesAt = Head.ints + regionListInts

const headUnits = aligned((placesAt + threadInts) / 2)

/** How many limiters a buffer has room for by default, as far as that is no more than `mostUnits`; and of how many slots. */
const usualLimiters = 64
const usualSlots = 38

/** How many limiters with two slots per key it has room for at least. */
const fewestLimiters = 4

/** The least and the most that a buffer has by default, in units: pages that are not used cost nothing. */
const leastUnits = 2 ** 21
const mostUnits = 2 ** 29

/** Prepares a buffer. Pages that nothing is written to take no memory. */
export function newBuffer(
  maxKeys: number,
  maxBytes: number | undefined,
  seed: Int32Array = randomFillSync(new Int32Array(4))
): SharedArrayBuffer {
  const one = limiterUnits(maxKeys, 2)
  if (maxBytes !== undefined && Math.floor(maxBytes / 8) < headUnits + one)
    throw badOption('maxBytes', maxBytes, `one limiter of ${maxKeys} keys takes ${8 * (headUnits + one)}`)
  const buffer = maxBytes === undefined ? usual(maxKeys) : asked(maxBytes)
  const ints = new Int32Array(buffer, 0, Head.ints)
  ints.set(seed, Head.seed)
  ints[Head.maxKeys] = maxKeys
  Atomics.store(ints, Head.magic, magic)
  return buffer
}

/** What a limiter of one policy takes. */
function limiterUnits(maxKeys: number, slots: number): number {
  const shape = { maxKeys, slots, buckets: bucketsFor(maxKeys, 1), hasOverflow: true }
  return line + aligned(tableUnits(shape)) + aligned(blockUnits(maxKeys))
}

/** A buffer of the usual size, or of as much of it as this machine gives. */
function usual(maxKeys: number): SharedArrayBuffer {
  const most = Math.min(mostUnits, headUnits + usualLimiters * limiterUnits(maxKeys, usualSlots))
  const least = Math.max(leastUnits, headUnits + fewestLimiters * limiterUnits(maxKeys, 2))
  for (let units = Math.max(least, most); units > least; units = Math.floor(units / 2)) {
    const buffer = allocated(units * 8)
    if (buffer !== null) return buffer
  }
  const buffer = allocated(least * 8)
  if (buffer !== null) return buffer
  throw badOption('maxKeys', maxKeys, `its limiters take ${least * 8} bytes, ${tooMuch}`)
}

function asked(maxBytes: number): SharedArrayBuffer {
  const buffer = allocated(Math.floor(maxBytes / 8) * 8)
  if (buffer === null) throw badOption('maxBytes', maxBytes, `${maxBytes} bytes are ${tooMuch}`)
  return buffer
}

const tooMuch = 'more than one piece of memory can be here; give a smaller one'

/** A buffer of so many bytes; null where there is none. */
function allocated(bytes: number): SharedArrayBuffer | null {
  try {
    return new SharedArrayBuffer(bytes)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** A buffer, as one thread is attached to it. */
export class AttachedBuffer {
  readonly handle: SharedHandle
  readonly #memory: SharedMemory
  readonly #print: Fingerprint
  readonly #regions: Regions
  readonly #names = new Names()
  readonly #opened = new Map<number, Buckets>()
  /** The permits of limiters, this thread's own and others', by where they begin. */
  readonly #permits = new Map<number, SharedPermits>()
  readonly #maxKeys: number
  readonly #isOwn: boolean

  /**
   * @param from whether the buffer was prepared by this thread
   * @throws HeadgateError `HEADGATE_BAD_OPTION` for what is no buffer of a shared store, `HEADGATE_STORE_FULL`
   */
  constructor(handle: SharedHandle, from: 'here' | 'elsewhere' = 'elsewhere') {
    checkHandle(handle)
    this.handle = handle
    this.#isOwn = from === 'here'
    this.#memory = new SharedMemory(handle.buffer)
    const { ints } = this.#memory
    this.#maxKeys = ints[Head.maxKeys]!
    this.#memory.maxKeys = this.#maxKeys
    this.#print = new Fingerprint(ints.slice(Head.seed, Head.seed + 4))
    const regions = new Regions(this.#memory, Head.ints, this.#memory.words.length)
    this.#regions = regions
    this.#memory.attachment = new Attachment(ints, placesAt, (slot) => this.#clearAfter(slot))
  }

  /** How many threads are attached to it, and how many records its limiters have ever taken. */
  get usage(): { readonly threads: number; readonly records: number } {
    const { ints } = this.#memory
    const threads = ints.subarray(placesAt, placesAt + mostThreads).filter((place) => place !== 0).length
    const taken = [...this.#regions.pools(headUnits)].map((pool) => takenFrom(this.#memory, pool))
    return { threads, records: taken.reduce((sum, count) => sum + count, 0) }
  }

  /** Gives up this thread's place, as when it ends. */
  leave(): void {
    this.#memory.attachment.leave()
  }

  /** All that the limiters of all threads hold, as bytes. */
  save(): Uint8Array {
    const { ints } = this.#memory
    ints[Head.isKept] = 1
    const to = new NumberWriter()
    to.number(this.#maxKeys)
    to.raw(new Float64Array(ints.slice(Head.seed, Head.seed + 4).buffer))
    saveRegions(this.#memory, [...this.#regions.all(headUnits)], to)
    return sealed('sharedStore', to.parts)
  }

  /** Reads what was saved into a buffer that is new. */
  restore(from: NumberReader): void {
    restoreRegions(this.#memory, this.#regions, { first: headUnits, from })
  }

  /** Notes that the user knows that counters are lost unless they are saved. */
  keep(): void {
    this.#memory.ints[Head.isKept] = 1
  }

  clear(): void {
    for (const buckets of this.#opened.values()) buckets.clear()
  }

  open(options: BucketsOptions): Buckets {
    const { policies } = options
    if (this.#isOwn && this.#memory.ints[Head.isKept] === 0) warnOfLostCounters(policies)
    const region = this.#names.claim(options, (identity) =>
      this.#regions.open(identity, policies, this.#maxKeys, headUnits)
    )
    const opened = this.#opened.get(region.table) ?? this.#made(region, policies)
    this.#opened.set(region.table, opened)
    return opened
  }

  #made(region: Region, policies: readonly Policy[]): Buckets {
    const open = (windows: readonly Policy[]) => new SharedBuckets(this.#memory, region, windows, this.#print)
    if (!policies.some(countsInFlight)) return open(policies)
    if (!this.#isOwn && !this.#memory.attachment.isWatched) warnOfUnwatched()
    // A limit that finds itself is of what this thread does.
    const isOwn = policies.some(({ adaptive }) => adaptive !== null)
    const counts = isOwn ? new Permits() : this.#permitsAt(region.permits)
    return new PermitBuckets({ policies, counts, open, isShared: true })
  }

  #permitsAt(begin: number): SharedPermits {
    const known =
      this.#permits.get(begin) ?? new SharedPermits(this.#memory, begin, this.#maxKeys, this.#print)
    this.#permits.set(begin, known)
    return known
  }

  /** Gives back what the thread at a place had: the records that it kept, and its permits. */
  #clearAfter(slot: number): void {
    for (const pool of this.#regions.pools(headUnits)) returnSpares(this.#memory, pool, slot)
    for (const begin of this.#regions.permits(headUnits)) this.#permitsAt(begin).releaseAll(slot)
  }
}

function checkHandle(handle: unknown): asserts handle is SharedHandle {
  const { headgate, buffer } = (handle ?? {}) as Partial<SharedHandle>
  if (headgate !== 1 || !(buffer instanceof SharedArrayBuffer))
    throw badOption('from', handle, 'give the `handle` of a shared store, passed on as it is')
  if (buffer.byteLength < headUnits * 8 || Atomics.load(new Int32Array(buffer, 0, 1), 0) !== magic)
    throw badOption('from', handle, 'its buffer was not prepared by this version of headgate')
}
