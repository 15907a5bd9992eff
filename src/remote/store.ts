import type { AsyncBuckets, AsyncBucketsOptions, AsyncStore } from '../core/async-store.js'
import { type Identity, Names } from '../core/names.js'
import { badOption } from '../core/options.js'
import type { Policy } from '../core/policy.js'
import { heard } from '../core/promise.js'
import type { Backend } from './backend.js'
import { Batches } from './batches.js'
import { RemoteBuckets } from './buckets.js'
import { clearIn } from './clearing.js'
import { checkBackend, checkForm } from './contract.js'
import { DenyCache } from './deny-cache.js'
import type { Executor } from './executor.js'
import { Leases } from './leases.js'
import type { ReadRemoteLimiterSettings } from './limiter-options.js'
import { blocksIn } from './listing.js'
import { Nodes } from './nodes.js'
import { OperationExecutor } from './operation-executor.js'
import {
  checkStoreOptions,
  type RemoteSettings,
  type RemoteStoreOptions,
  readRemoteOptions,
  remoteStoreOptions
} from './options.js'
import { KnownBlocks } from './outage/known-blocks.js'
import { LateRefunds } from './outage/late-refunds.js'
import { LocalCounting } from './outage/local-counting.js'
import { Recovery } from './outage/recovery.js'
import { Repayment } from './outage/repayment.js'
import { HeldPermits } from './permits/held-permits.js'
import type { PermitOwner } from './permits/holdings.js'
import { checkConcurrency } from './permits/key-permits.js'
import { LimiterPermits } from './permits/limiter-permits.js'
import { LocalPermitCounting } from './permits/local-permit-counting.js'
import { PermitTier } from './permits/permit-tier.js'
import { RenewalDeadlines, renewalByKey, renewalByShard } from './permits/renewal.js'
import { StateExecutor } from './state-executor.js'
import { Deadline, type DeadlineSettings } from './time/deadline.js'

const { createHash } = process.getBuiltinModule('node:crypto')

/** A store outside the process. */
export interface RemoteStore extends AsyncStore {
  /** False while the store, or one of its nodes, fails: for health checks. */
  readonly isAvailable: boolean
  /**
   * Forgets all keys of all its limiters, blocks included, in all processes, and nothing else that the database holds. It
   * does so in steps, so that what is decided meanwhile may be forgotten or not.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`, or `HEADGATE_MISUSE` for a backend that cannot
   */
  clear(): Promise<void>
  /**
   * Returns leases and stops timers. The client stays open, because it is yours. Limiters keep working, without
   * leases.
   */
  close(): Promise<void>
}

/**
 * One limit for all processes that share a database, whatever it is: the backend says how it is used, and this store
 * adds a deadline, a breaker, what happens during an outage, and ways to ask less often.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function remoteStore(backend: Backend, options: RemoteStoreOptions = {}): RemoteStore {
  checkStoreOptions(options, remoteStoreOptions, 'remoteStore', "{ deadline: '100ms' }")
  const settings = readRemoteOptions(options)
  checkBackend(backend)
  return new BackendStore(backend, settings)
}

/** How long what is made up for after an outage may take at the least, ms: nobody waits for it. */
const patienceMs = 1000

/** Nobody counts what comes of such calls. */
const nobody = { succeed() {}, fail() {} }

/** What carries out operations: those of requests, and those that make up for an outage. */
interface Executors {
  readonly executor: Executor
  readonly quiet: Executor
  /** What renews permits; null where the backend cannot. */
  readonly renew: PermitOwner['renew'] | null
  /** True where it renews each key by itself. */
  readonly isByKey: boolean
}

class BackendStore implements RemoteStore {
  readonly #backend: Backend
  readonly #settings: RemoteSettings
  readonly #names: Names
  readonly #nodes: Nodes
  readonly #deadline: Deadline
  readonly #batches: Batches
  readonly #quietDeadline: Deadline
  readonly #quietBatches: Batches
  readonly #renewals: RenewalDeadlines
  readonly #repayment: Repayment
  readonly #held: HeldPermits
  readonly #opened: RemoteBuckets[] = []

  constructor(backend: Backend, settings: RemoteSettings) {
    const { name } = backend
    const { deadlineMs, breaker, onStateChange } = settings
    this.#repayment = new Repayment(this.#opened)
    this.#held = new HeldPermits(settings.leaseMs)
    this.#backend = backend
    this.#settings = settings
    this.#names = new Names({ where: `in ${name} ` })
    this.#nodes = new Nodes(backend, {
      breaker,
      onChange: (error) =>
        onStateChange(error === undefined ? { isAvailable: true } : { isAvailable: false, error }),
      onRecovery: () => {
        this.#repayment.begin()
        this.#held.hurry()
      }
    })
    const calls: DeadlineSettings = {
      name,
      deadlineMs,
      isOutage: (error) => backend.isOutage?.(error) ?? true
    }
    this.#deadline = new Deadline(this.#nodes, calls)
    this.#batches = new Batches(this.#deadline)
    const quietMs = Math.max(patienceMs, deadlineMs)
    this.#quietDeadline = new Deadline(nobody, { ...calls, deadlineMs: quietMs })
    this.#renewals = new RenewalDeadlines(this.#nodes, calls, { quietMs, leaseMs: settings.leaseMs })
    this.#quietBatches = new Batches(this.#quietDeadline)
  }

  get isAvailable(): boolean {
    return this.#nodes.isAvailable
  }

  openAsync(options: AsyncBucketsOptions): AsyncBuckets {
    return this.#names.claim(options, (identity) => this.#open(nameOf(identity), options))
  }

  clear(): Promise<void> {
    return heard(this.#clearAll())
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((buckets) => buckets.close()))
    this.#repayment.end()
    this.#held.end()
    this.#backend.close?.()
  }

  #open(name: string, options: AsyncBucketsOptions): RemoteBuckets {
    const { policies, countDenied, blockMs } = options
    const terms = { name, policies, countDenied, blockMs }
    const {
      onStoreError = this.#settings.onStoreError,
      share,
      lease
    } = options.settings as ReadRemoteLimiterSettings
    if (share !== undefined && onStoreError !== 'local')
      throw badOption(
        'share',
        share,
        `it is a part of what is counted here under \`onStoreError: 'local'\`, and that is '${onStoreError}'; leave it out`
      )
    const locate = (key: string) => this.#nodes.locate(key)
    const executors = this.#executorsFor(name, options)
    const { executor } = executors
    const permits = this.#permitsFor(name, policies, executors)
    const [blocks, lateRefunds] = [new KnownBlocks(), new LateRefunds()]
    const counting = { policies, onStoreError, blocks, share: share ?? this.#settings.share }
    const localCounting =
      permits === null ? new LocalCounting(counting) : new LocalPermitCounting(counting, permits)
    const quiet = permits === null ? executors.quiet : permits.tier.executor(executors.quiet)
    const buckets: RemoteBuckets = new RemoteBuckets({
      ...{ policies, locate, executor, localCounting, blocks, lateRefunds, permits },
      name: this.#backend.name,
      recovery: new Recovery({ policies, locate, executor: quiet, localCounting, blocks, lateRefunds }),
      denyCache: this.#denyCacheFor(options),
      clear: () => this.#clear(name),
      list: (page) => blocksIn(this.#backend, terms, page, this.#deadline),
      leases: lease === undefined ? null : new Leases(lease, (key, units) => buckets.giveBack(key, units))
    })
    this.#opened.push(buckets)
    return buckets
  }

  async #clearAll(): Promise<void> {
    for (const buckets of this.#opened) buckets.forget()
    try {
      await this.#clear(null)
    } finally {
      for (const buckets of this.#opened) buckets.forget()
    }
  }

  #clear(name: string | null): Promise<void> {
    return clearIn(this.#backend, name, this.#deadline)
  }

  #executorsFor(name: string, { policies, countDenied, blockMs }: AsyncBucketsOptions): Executors {
    const terms = { name, policies, countDenied, blockMs }
    const opened = this.#backend.open(terms)
    checkForm(opened)
    const [backend, { leaseMs }] = [this.#backend, this.#held]
    const { trial, usual } = this.#renewals
    if (!('rulesFor' in opened)) {
      const executor = new StateExecutor(this.#deadline, opened, terms)
      const quiet = new StateExecutor(this.#quietDeadline, opened, terms)
      const ways = {
        trial: new StateExecutor(trial, opened, terms),
        usual: new StateExecutor(usual, opened, terms)
      }
      const renew = renewalByKey(backend, leaseMs, ways, policies)
      return { executor, quiet, renew, isByKey: true }
    }
    const executor = new OperationExecutor(this.#batches, this.#deadline, opened, policies)
    const quiet = executor.through(this.#quietBatches, this.#quietDeadline)
    const renew = backend.renew === undefined ? null : renewalByShard(backend, leaseMs, this.#renewals)
    return { executor, quiet, renew, isByKey: false }
  }

  /** What counts in flight; null where no policy asks for it. */
  #permitsFor(
    name: string,
    policies: readonly Policy[],
    { executor, renew, isByKey }: Executors
  ): LimiterPermits | null {
    const tier = PermitTier.of(policies)
    if (tier === null) return null
    const held = this.#held
    if (renew === null)
      throw badOption(
        'concurrency',
        tier.permitOf(policies).limit,
        `${this.#backend.name} cannot count what is in flight: its backend has no \`renew\``
      )
    if (isByKey) checkConcurrency(tier.permitOf(policies))
    const locate = (key: string) => this.#nodes.locate(key)
    return new LimiterPermits({ name, tier, held, policies, locate, executor, isByKey, renew })
  }

  /** Denials that are to be charged must reach the store. */
  #denyCacheFor({ countDenied }: AsyncBucketsOptions): DenyCache | null {
    const { denyCacheMs } = this.#settings
    return denyCacheMs === 0 || countDenied ? null : new DenyCache(denyCacheMs)
  }
}

/** Characters of a name that are shown. */
const longestShown = 60

/** What a limiter's keys are named: readable, and with a digest of all that makes it different from others. */
function nameOf({ names, place, rule }: Identity): string {
  const shown = (place ? `${place}:` : '') + names.join('+')
  const digest = createHash('sha256')
    .update(JSON.stringify([names, place, rule]))
    .digest('base64url')
  return `${shown.slice(0, longestShown).replace(/[^!-z|~]/g, '_')}:${digest.slice(0, 8)}`
}
