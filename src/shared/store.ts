import { badOption, checkNames, type TableOf } from '../core/options.js'
import { wholeNumber } from '../core/readers.js'
import type { Store } from '../core/store.js'
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
  /** Forgets all keys, in all threads, of the limiters that this thread has made. */
  clear(): void
}

/** Their names. Which of them may stand together is read below. */
const sharedStoreOptions: TableOf<SharedStoreOptions & SharedStoreSource> = {
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
  const { maxKeys, maxBytes, from } = options as SharedStoreOptions & Partial<SharedStoreSource>
  if (from === undefined)
    return new AttachedBuffer({ headgate: 1, buffer: bufferOf(maxKeys, maxBytes) }, 'here')
  for (const [name, value] of Object.entries({ maxKeys, maxBytes }))
    if (value !== undefined)
      throw badOption(name, value, 'the store that `from` leads to has it already; leave it out')
  return isPromise(from) ? new LateBuffer(from) : new AttachedBuffer(from)
}

function bufferOf(maxKeys: number = defaultMaxKeys, maxBytes: number | undefined): SharedArrayBuffer {
  if (wholeNumber('maxKeys', maxKeys, 1) > mostKeys)
    throw badOption('maxKeys', maxKeys, `give a whole number of at most ${mostKeys}`)
  return newBuffer(maxKeys, maxBytes === undefined ? undefined : wholeNumber('maxBytes', maxBytes, 1))
}

function isPromise(from: object): from is PromiseLike<SharedHandle> {
  return typeof (from as Partial<PromiseLike<SharedHandle>> | null)?.then === 'function'
}
