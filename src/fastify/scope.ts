import { badOption, checkNames, inheritable, pick } from '../core/options.js'
import { saysLimit } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import { fastifyHost } from '../hosts/fastify/host.js'
import { limiterBehind } from '../http/by-hand.js'
import { Gate } from '../http/gate.js'
import { NamedPolicies, policyOwner } from '../http/named-policies.js'
import { gatePlan } from '../http/options.js'
import { warnOfLateLimiter } from '../http/turn-watch.js'
import { claimIn } from './claims.js'
import { type FastifyGate, limitHook, type Placed } from './limit-hook.js'
import {
  type FastifyRouteLimit,
  hookOptions,
  inheritedOptions,
  type LimitHook,
  type LimitHookFunction,
  pluginOptions,
  type RateLimitPluginOptions,
  type ResolvedLimit
} from './options.js'
import { claimRoute } from './route-limits.js'
import { type Declared, innermost, isServer, type Scoped, type ServerRecord } from './server.js'

/** A hook that was made by `app.limit`. */
interface Made {
  readonly limit: FastifyRouteLimit | string
  readonly owner: Owner
  gate: FastifyGate
}

/** One registration of the plugin: its default gate, its policies, and the gates of its routes. */
export class LimitScope {
  readonly app: Scoped
  readonly record: ServerRecord
  /** The registration around it, from which it inherits. */
  outer: LimitScope | undefined
  /** The one before it in the same scope, whose policies it knows. */
  readonly beside: LimitScope | undefined
  /** Its own settings, and those that it inherits. */
  settings: object = {}
  policies!: NamedPolicies<FastifyRouteLimit, Placed>
  /** The hook in which it looks at every request. */
  hook!: LimitHook
  readonly #options: RateLimitPluginOptions
  readonly #place: string
  readonly #owners = new Map<string, Owner>()
  readonly #made: Made[] = []
  readonly #hooks = new Set<LimitHook>()
  #gate: FastifyGate | null = null

  constructor(app: Scoped, record: ServerRecord, options: RateLimitPluginOptions) {
    checkNames(options, pluginOptions, 'the plugin')
    this.app = app
    this.record = record
    this.#options = options
    const number = record.scopes.filter((one) => one.app.prefix === app.prefix).length + 1
    this.#place = `scope ${app.prefix || '/'}${number === 1 ? '' : `#${number}`}`
    const before = app[innermost]
    this.beside = before?.app === app ? before : undefined
    this.outer = this.beside === undefined ? before : this.beside.outer
    this.#build()
  }

  /** What limits the routes that say nothing themselves; null if nothing does. */
  get gate(): FastifyGate | null {
    return this.#gate
  }

  /** True while a registration around it may still come. */
  get isOpen(): boolean {
    return !this.record.isStarted && !isServer(this.app)
  }

  /** Takes its place around the routes and the registrations that there are within its scope, and those to come. */
  enter(): void {
    const { app, beside, record, outer } = this
    app[innermost] = this
    const around = beside ?? outer
    const inner = record.scopes.filter((one) => one.outer === around && isWithin(one.app, app))
    record.scopes.push(this)
    this.#addHook()
    this.#claimRoutes()
    for (const one of inner) one.adopt(this)
  }

  /** Inherits from a registration around it that has loaded later. */
  adopt(outer: LimitScope): void {
    this.outer = outer
    this.#build()
    this.#addHook()
    for (const made of this.#made) made.gate = this.#placedBy(made.limit, made.owner).gate
    this.#claimRoutes()
    for (const one of this.record.scopes) if (one.outer === this) one.adopt(this)
  }

  /** Reads a route's own `limit`. The innermost scope around a route reads it. */
  claimRoute(declared: Declared): void {
    claimRoute(this, declared)
  }

  /** A hook for one route. */
  hookFor(limit: FastifyRouteLimit | string): LimitHookFunction {
    // One of the policies is there already.
    if (this.record.isStarted && typeof limit !== 'string') warnOfLateLimiter()
    const owner: Owner = { mayShare: false, label: 'a hook of `app.limit`' }
    const made: Made = { limit, owner, gate: this.#placedBy(limit, owner).gate }
    if (!this.record.isStarted) this.#made.push(made)
    return Object.assign(
      limitHook(() => made.gate),
      {
        limiter: limiterBehind(
          () => made.gate,
          () => fastifyHost
        )
      }
    )
  }

  /** A gate with the scope's settings where a limit's own options leave them out. */
  placed(limit: unknown, owner: Owner): Placed {
    if (typeof limit !== 'object' || limit === null)
      throw badOption(
        'limit',
        limit,
        "give a policy such as { limit: 5, window: '1m' }, a policy's name, or false"
      )
    return this.#placeIn(
      filledIn(inheritable(this.settings, limit, inheritedOptions), limit),
      "a route's `limit`",
      owner
    )
  }

  #placeIn(options: object, where: string, owner: Owner): Placed {
    const placed = place(options, where, owner)
    this.record.gates.add(placed.gate)
    return placed
  }

  #placedBy(limit: FastifyRouteLimit | string, owner: Owner): Placed {
    return typeof limit === 'string' ? this.policies.of(limit) : this.placed(limit, owner)
  }

  #build(): void {
    const { policies = {}, ...own } = this.#options
    const inherited = inheritable(this.outer?.settings ?? {}, own, inheritedOptions)
    this.settings = filledIn(inherited, pick(own, inheritedOptions))
    const placed = saysLimit(own)
      ? this.#placeIn(filledIn(inherited, own), 'the plugin', this.#ownerOf(''))
      : null
    this.#gate = placed?.gate ?? null
    this.hook = placed?.hook ?? readHook((this.settings as { hook?: unknown }).hook) ?? 'onRequest'
    const wording = { by: '`limit`', owner: 'the plugin' }
    const placePolicy = (name: string, policy: FastifyRouteLimit) =>
      this.placed(policy, this.#ownerOf(name, policyOwner(name, policy)))
    this.policies = new NamedPolicies(policies, wording, placePolicy, (this.beside ?? this.outer)?.policies)
  }

  /**
   * Whose the counters of the default limit are, or those of a policy. A registration within another scope shares none by
   * name in a store that it inherits: the one that it has the store from may use the name, and so may others beside it.
   */
  #ownerOf(policy: string, shared: Owner = { mayShare: true }): Owner {
    const known = this.#owners.get(policy)
    if (known !== undefined) return known
    const place = policy === '' ? this.#place : `${this.#place} ${policy}`
    const label = policy === '' ? 'the plugin' : `policies.${policy}`
    const isNested = !isServer(this.app)
    const owner = isNested
      ? { ...shared, mayShare: this.#options.store !== undefined, place, label: `${label} of ${this.#place}` }
      : { ...shared, label }
    this.#owners.set(policy, owner)
    return owner
  }

  #claimRoutes(): void {
    for (const declared of this.record.routes.values())
      if (declared.by[innermost] === this) this.claimRoute(declared)
  }

  /** The hook that limits every request of the scope, by its route's own gate or by the scope's. */
  #addHook(): void {
    const { hook, record } = this
    if (this.#hooks.has(hook)) return
    this.#hooks.add(hook)
    const run = limitHook((request) => {
      if (this.hook !== hook) return null
      return record.hasClaims ? this.#gateFor(request.routeOptions.config) : this.#gate
    })
    this.app.addHook(hook as 'onRequest', run)
  }

  #gateFor(config: unknown): FastifyGate | null {
    const claimed = claimIn(config)
    if (claimed?.scope === undefined) return this.#gate
    if (claimed.placed === null) return null
    if (claimed.scope !== this) return this.#gate
    return claimed.hook === null ? claimed.placed.gate : null
  }
}

/** True for an instance inside of another. */
function isWithin(app: Scoped, outer: Scoped): boolean {
  return app !== outer && Object.prototype.isPrototypeOf.call(outer, app)
}

/** What `own` leaves out, or has no value for, is taken from `outer`. */
function filledIn(outer: object, own: object): object {
  const given = Object.entries(own).filter(([name, value]) => value !== undefined || !(name in outer))
  return { ...outer, ...Object.fromEntries(given) }
}

function place(options: object, where: string, owner: Owner): Placed {
  const { hook, ...rest } = options as ResolvedLimit & { hook?: unknown }
  const gate: FastifyGate = new Gate(gatePlan(rest as ResolvedLimit, where, owner))
  return { gate, hook: readHook(hook) ?? (gate.usesUser ? 'preHandler' : 'onRequest') }
}

const readHook = (hook: unknown) => hookOptions.hook.read('hook', hook)
