import { badOption, checkNames, type TableOf } from '../core/options.js'
import { wholeNumber } from '../core/readers.js'
import type { Store } from '../core/store.js'
import { unsealed } from '../memory/saving/envelope.js'
import { NumberReader } from '../memory/saving/numbers.js'
import { AttachedBuffer, newBuffer, type SharedHandle } from './buffer.js'
import { LateBuffer } from './late.js'

/** Options of `sharedStore` in the thread that makes the store. */
export interface SharedStoreOptions {
  /** The maximum number of keys per limiter; 100 000 if left out. */
  readonly maxKeys?: number | undefined
  /**
   * The bytes that its limiters share. The default has room for 64 sliding logs of up to 32 units, but is 4 GiB at most as
   * long as four limiters of short keys have room in it, 16 MiB at least, and less where the machine gives less. Pages that
   * are never written take no memory.
   */
  readonly maxBytes?: number | undefined
  /**
   * What `save()` of another store returned, such as that of this process before it was restarted: limiters go on where they
   * were. `maxKeys` is then what it was. Undefined, at the first start, begins with empty counters.
   */
  readonly from?: Uint8Array | undefined
}

/** Options of `sharedStore` in the other threads. */
export interface SharedStoreSource {
  /** The `handle` of the store, or a promise of it; until it has come decisions throw `HEADGATE_STORE_FAILED`. */
  readonly from: SharedHandle | PromiseLike<SharedHandle>
}

/** A store in memory that worker threads share. */
export interface SharedStore extends Store {
  /** Other threads attach with it: pass it in `workerData` or in a message. */
  readonly handle: SharedHandle
  /**
   * The counters and blocks of all threads as bytes, to be given to `sharedStore({ from })` later. What is in flight is not
   * among them. They hold the seed of the fingerprints of keys: keep them as private as the keys.
   */
  save(): Uint8Array
  /** Forgets all keys, in all threads, of the limiters that this thread has made. */
  clear(): void
}

/** All of them. Which may stand together is read below. */
type AnyOptions = Omit<SharedStoreOptions, 'from'> & {
  readonly from?: Uint8Array | SharedStoreSource['from'] | undefined
}

/** Their names. */
const sharedStoreOptions: TableOf<AnyOptions> = {
  maxKeys: {},
  maxBytes: {},
  from: {}
}

const defaultMaxKeys = 100_000

/** Indexes into the buffer must fit 32 bits. */
const mostKeys = 2 ** 27

/**
 * The same limits for all worker threads of a process: exact, lock-free and synchronous. One thread makes the
 * store, the others attach to it by its `handle`. Limiters are matched by the names and rules of their policies.
 * @example
 * const store = sharedStore({ maxKeys: 100_000 })
 * new Worker(file, { workerData: store.handle })
 * // there:
 * const limiter = createLimiter({ limit: 100, window: '1m', store: sharedStore({ from: workerData }) })
 * @throws HeadgateError that names the option, the value and the fix
 */
export function sharedStore(options: SharedStoreOptions | SharedStoreSource = {}): SharedStore {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, 'give { maxKeys }, { from: handle }, or nothing')
  checkNames(options, sharedStoreOptions, 'sharedStore')
  const { maxKeys, maxBytes, from } = options as AnyOptions
  if (from instanceof Uint8Array) return restored(from, maxKeys, maxBytes)
  if (from === undefined) {
    const store = new AttachedBuffer({ headgate: 1, buffer: bufferOf(maxKeys, maxBytes) }, 'here')
    if ('from' in options) store.keep()
    return store
  }
  for (const [name, value] of Object.entries({ maxKeys, maxBytes }))
    if (value !== undefined)
      throw badOption(name, value, 'the store that `from` leads to has it already; leave it out')
  return isPromise(from) ? new LateBuffer(from) : new AttachedBuffer(from)
}

/** A store that goes on where another was saved. */
function restored(
  bytes: Uint8Array,
  asked: number | undefined,
  maxBytes: number | undefined
): AttachedBuffer {
  const saved = new NumberReader(unsealed('sharedStore', bytes))
  const maxKeys = saved.count()
  if (asked !== undefined && asked !== maxKeys)
    throw badOption(
      'maxKeys',
      asked,
      `what was saved has room for ${maxKeys} keys: give that, or leave it out`
    )
  const seed = new Int32Array(saved.raw(2).slice().buffer)
  const store = new AttachedBuffer({ headgate: 1, buffer: bufferOf(maxKeys, maxBytes, seed) }, 'here')
  store.restore(saved)
  store.keep()
  return store
}

function bufferOf(
  maxKeys: number = defaultMaxKeys,
  maxBytes: number | undefined,
  seed?: Int32Array
): SharedArrayBuffer {
  if (wholeNumber('maxKeys', maxKeys, 1) > mostKeys)
    throw badOption('maxKeys', maxKeys, `give a whole number of at most ${mostKeys}`)
  return newBuffer(maxKeys, maxBytes === undefined ? undefined : wholeNumber('maxBytes', maxBytes, 1), seed)
}

function isPromise(from: object): from is PromiseLike<SharedHandle> {
  return typeof (from as Partial<PromiseLike<SharedHandle>> | null)?.then === 'function'
}
