import type { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { BlocksFound } from '../core/store.js'
import type { Verdict } from '../core/verdict.js'
import type { Operation } from './operation.js'
import type { Holding } from './permits/holdings.js'

/**
 * What a remote store needs of a database. `remoteStore` adds everything else: the deadline, the breaker,
 * `onStoreError`, local counting and its repayment, leases, the deny cache, names and batches.
 *
 * A backend decides in one of three ways, each atomically for one key:
 * - it runs operations itself, many in one call (`Operating`): scripts, stored procedures;
 * - it locks a key, lets core decide on its state, and writes that back (`Locking`): a transaction;
 * - it reads a key's state, and writes another if nobody has changed it (`Swapping`): compare-and-swap.
 */
export interface Backend {
  /** What error messages call it: `'PostgreSQL'`. */
  readonly name: string
  /** The shard that has a key. Operations on keys of one shard may share a call; 0 if there is only one. */
  shardOf(key: string): number
  /** The node that serves a shard now: what fails together has one label, and one breaker. */
  nodeOf(shard: number): string
  /** The labels of all nodes that serve anything now. Left out if nodes never change. */
  nodes?(): Iterable<string>
  /**
   * Prepares the buckets of one limiter.
   * @throws HeadgateError for what it cannot count
   */
  open(limiter: LimiterTerms): Operating | Locking | Swapping
  /**
   * False for errors that say nothing about the health of the node, such as a conflict of transactions: the breaker
   * does not count them. If left out, or if it throws, whatever a call rejects with or throws is an outage. It is not
   * asked about calls that are late, or answered with what this contract does not have: those are failures of the node.
   */
  isOutage?(error: unknown): boolean
  /**
   * Forgets all keys of the limiter of this name, or of all limiters for null, and nothing else that the database holds.
   * It does so in steps, each of which has the deadline: whoever iterates asks for the next. Left out if it cannot.
   */
  clear?(name: string | null): AsyncIterable<unknown>
  /**
   * Finds the keys of a limiter that are blocked, from a place in the list on, null for its beginning: in steps, each of
   * which has the deadline, and says where the next one begins, null after the last. Left out if it cannot.
   */
  blocks?(limiter: LimiterTerms, after: string | null): AsyncIterable<BlocksFound>
  /**
   * Renews the leases of permits on keys of one shard, and takes back what was released: a store calls it three times a
   * lease while any of its permits are out. Without it a backend that runs operations itself can count nothing in flight.
   * @returns for each permit that is held, in order, true if it was gone and was taken again
   */
  renew?(holdings: readonly Holding[], leaseMs: number, call: Call): Promise<readonly boolean[]>
  /** Frees what the backend holds for the store. The client is the user's. */
  close?(): void
}

/** What a backend knows of the limiter whose buckets it opens. */
export interface LimiterTerms {
  /** Tells its keys from those of other limiters, in all processes: at most 69 printable ASCII characters, no braces. */
  readonly name: string
  readonly policies: readonly Policy[]
  readonly countDenied: boolean
  readonly blockMs: number
}

/** One call of a backend, and the time that it has. */
export interface Call {
  /** The label of the node that it goes to. */
  readonly node: string
  /**
   * When it is given up, on the monotonic clock (`performance.now()`), if the event loop is free: time in which this
   * process could not have read an answer is not counted.
   */
  readonly dueAt: number
  /**
   * The same on the backend's clock, whole ms, as its last answer told the time: what a node begins later must change
   * nothing any more, as the caller has been answered otherwise.
   */
  readonly expiresAt: number
  /** True once it was answered or given up. */
  readonly isOver: boolean
  /** To be set while it waits for a connection, so that the error says so. */
  waitsForConnection: boolean
  /** Why there is no connection, as far as the backend knows: the error says it. */
  connectionError: string | null
  /** Called if it is given up. */
  onGivenUp: (() => void) | null
  /**
   * To be told the backend's time, ms, as soon as an answer brings it. What is no time fails the call: text, a `Date`,
   * or a number that is not finite or below 0. A fraction is left out. The same holds for all times of a backend.
   */
  tellTime(now: number): void
}

/** A backend that runs operations itself. */
export interface Operating {
  /**
   * What it needs to know to decide by `policies`: the limiter's own, or the same with computed limits. Called once for
   * each, and anew once lower limits are charged.
   * @param lowest the policies with the lowest limits that keys were charged under, which tell how long keys owe;
   * null if limits do not vary
   */
  rulesFor(policies: readonly Policy[], lowest: readonly Policy[] | null): Rules
  /**
   * The same rules of several limiters of the backend, in this order, for operations that are decided together (`join`): all
   * with one runner. Left out where it cannot; then what others charged is given back where one denies.
   */
  jointRules?(rules: readonly Rules[]): readonly Rules[]
}

/** The rules of operations, in the backend's own form. */
export interface Rules {
  readonly policies: readonly Policy[]
  /** What runs the operations that go by them. Those of one runner may share a call. */
  readonly runner: Runner
}

/** One operation of a batch. `rules` are some that the runner belongs to. */
export interface Request {
  readonly key: string
  readonly operation: Operation
  readonly rules: Rules
}

/** Runs batches of operations. */
export interface Runner {
  /** The most operations that a call takes. */
  readonly most: number
  /**
   * Runs operations on keys of one shard, in this order: all, or none if it rejects.
   * @returns an answer to each
   */
  run(requests: readonly Request[], call: Call): Promise<readonly Answer[]>
}

/**
 * What becomes of an operation: a verdict if it is decided, from the source `'store'`; undefined if it is not; or the
 * error of a strategy of the user, which has changed nothing and fails this operation alone.
 */
export type Answer = Verdict | undefined | HeadgateError

/** What a key is to hold from now on. */
export interface Change {
  /** Its state, as text of printable ASCII. */
  readonly text: string
  /** How long the state must be kept, ms; it may be deleted then. 0 or less: at once; `Infinity` for a block without end. */
  readonly lifeMs: number
  /** False if it must be kept no shorter than it was to be until now, either. */
  readonly mayShorten: boolean
}

/**
 * Decides on a key's state, for all operations on the key that wait. An error of the user's strategy is no concern of
 * the backend: it reaches the caller, and changes nothing.
 * @param text what the key holds, as it was written; empty if nothing
 * @param now the backend's time, ms
 * @returns null if nothing changes
 */
export type Decide = (text: string, now: number) => Change | null

/** A backend that can lock one key. */
export interface Locking {
  /**
   * Locks a key, reads it, calls `decide`, writes what that returns, and unlocks the key: as one transaction. If
   * `decide` throws, nothing is written, and `update` rejects: the call was given up, or `text` or `now` is none.
   */
  update(key: string, decide: Decide, call: Call): Promise<void>
}

/** What a key held when it was to be changed. */
export interface Swapped {
  readonly isDone: boolean
  readonly text: string
  /** The backend's time, ms. */
  readonly now: number
}

/** A backend that can compare and swap one key. */
export interface Swapping {
  /** What the error for a key that others keep changing says at its end, such as how to avoid that. */
  readonly hint?: string
  /**
   * Writes `change` if the key still holds `expected`, which is empty if it held nothing.
   * @param change null to read only; `isDone` then means nothing
   */
  swap(key: string, expected: string, change: Change | null, call: Call): Promise<Swapped>
}
