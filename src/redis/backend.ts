import { type Clock, monotonicClock } from '../core/clock.js'
import type { BlocksFound } from '../core/store.js'
import type { Backend, Call, LimiterTerms, Operating, Swapping } from '../remote/backend.js'
import type { Holding } from '../remote/permits/holdings.js'
import { PermitTier } from '../remote/permits/permit-tier.js'
import { clearKeys } from './clearing.js'
import { connectionOf, type RedisClient } from './clients/client.js'
import { JointRunner, jointRules } from './joint-runner.js'
import { tagOf } from './keys.js'
import { Link } from './link.js'
import { findBlocks } from './listing.js'
import { RedisOperating } from './operating.js'
import { PermitOperating } from './permits/permit-rules.js'
import { PermitRunner } from './permits/permit-runner.js'
import { renewPermits } from './permits/renewing.js'
import { ScriptRunner } from './script-runner.js'
import { canDecide } from './scripts/decision-script.js'
import type { Script, TimeSource } from './scripts/script.js'
import { slotCount, slotOf } from './slot.js'
import { RedisSwapping } from './swap.js'

/** Settings of the backend. */
export interface RedisBackendSettings {
  readonly prefix: string
  readonly isCluster: boolean
  /** Replaces the server's clock, in tests. */
  readonly clock: (() => number) | null
}

/** Redis or Valkey: it decides by a script, or by compare-and-swap if a strategy has no Lua. A shard is a slot. */
export class RedisBackend implements Backend {
  readonly name = 'Redis'
  /** Left out where there is one server, whose place another may take under the same address. */
  readonly nodes?: () => Iterable<string>
  readonly #link: Link
  readonly #prefix: string
  readonly #time: TimeSource
  readonly #clock: (() => number) | null
  /** About the time that the server has. */
  readonly #now: Clock
  readonly #runners = new Map<Script, ScriptRunner>()
  readonly #jointRunners = new Map<Script, JointRunner>()
  readonly #permitRunners = new Map<Script, PermitRunner>()

  constructor(client: RedisClient, { prefix, isCluster, clock }: RedisBackendSettings) {
    const connection = connectionOf(client, isCluster)
    this.#link = new Link(connection, clock)
    this.#prefix = prefix
    this.#clock = clock
    this.#time = clock === null ? 'server' : 'given'
    this.#now = clock ?? monotonicClock
    if (connection.isCluster)
      this.nodes = () => Array.from({ length: slotCount }, (_, slot) => this.nodeOf(slot))
  }

  shardOf(key: string): number {
    return this.#link.connection.isCluster ? slotOf(tagOf(key)) : 0
  }

  nodeOf(shard: number): string {
    return this.#link.connection.nodeOf(shard)
  }

  open(terms: LimiterTerms): Operating | Swapping {
    const tier = PermitTier.of(terms.policies)
    if (tier !== null && canDecide(tier.windowsOf(terms.policies)))
      return new PermitOperating(terms, tier, this.#time, (script) => this.#permitRunnerOf(script), this.#now)
    return canDecide(terms.policies)
      ? new RedisOperating(
          terms,
          this.#time,
          (script) => this.#runnerOf(script),
          this.#now,
          (rules) => jointRules(rules, this.#time, this.#now, (script) => this.#jointRunnerOf(script))
        )
      : new RedisSwapping(this.#link, this.#time, this.#prefix, terms.name)
  }

  clear(name: string | null): AsyncIterable<unknown> {
    return clearKeys(this.#link.connection, this.#prefix, name)
  }

  blocks(limiter: LimiterTerms, after: string | null): AsyncIterable<BlocksFound> {
    const { connection } = this.#link
    return findBlocks({ connection, prefix: this.#prefix, clock: this.#clock }, limiter, after)
  }

  renew(holdings: readonly Holding[], leaseMs: number, call: Call): Promise<readonly boolean[]> {
    return renewPermits({ link: this.#link, prefix: this.#prefix, time: this.#time }, holdings, leaseMs, call)
  }

  close(): void {
    this.#link.close()
  }

  #runnerOf(script: Script): ScriptRunner {
    const runner = this.#runners.get(script) ?? new ScriptRunner(this.#link, this.#prefix, script)
    this.#runners.set(script, runner)
    return runner
  }

  #jointRunnerOf(script: Script): JointRunner {
    const runner = this.#jointRunners.get(script) ?? new JointRunner(this.#link, this.#prefix, script)
    this.#jointRunners.set(script, runner)
    return runner
  }

  #permitRunnerOf(script: Script): PermitRunner {
    const runner = this.#permitRunners.get(script) ?? new PermitRunner(this.#link, this.#prefix, script)
    this.#permitRunners.set(script, runner)
    return runner
  }
}
