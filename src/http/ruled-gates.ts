import { HeadgateError } from '../core/errors.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import { badOption, checkNames, type OptionTable, pick } from '../core/options.js'
import { inherit, limitOptions } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import { warnOnce } from '../core/warn.js'
import type { HandPart, HandParts } from './by-hand.js'
import type { Client } from './client-address.js'
import type { Gate } from './gate.js'
import type { Host } from './host.js'
import { type Outcome, passed } from './outcome.js'
import { RequestFacts } from './request-facts.js'
import type { RequestRule, RequestRules, RuleTable } from './request-rules.js'
import type { RuleSource } from './rules.js'
import { throughAll } from './through-all.js'
import { UserWatch } from './user-watch.js'

/** What the gates of rules are made of. */
export interface RuledGatesOptions<Req, Res> {
  /** Those of the limiter, `rules` among them. Its functions, its store and its answers are those of every rule. */
  readonly options: object
  /** All that may stand beside `rules`. */
  readonly settings: OptionTable
  readonly where: string
  readonly owner: Owner
  readonly open: (options: never, where: string, owner: Owner) => Gate<Req, Res>
}

/** What chooses by which of several gates a request is decided. */
export interface GateChoice<Req, Res> {
  readonly usesUser: boolean
  readonly usesAddress: boolean
  enter(host: Host<Req, Res>, request: Req, response: Res, client: Client): Outcome | PromiseLike<Outcome>
  handParts(hostOf: HostFinder, outer: OuterHand<Req>): HandParts<Req>
  close(): void
}

/** What of the gate around rules serves by hand. */
interface OuterHand<Req> {
  /** The key by the option `key`, for those who are known without a request. */
  readonly keyOf: HandParts<Req>['keyOf']
  clientOf(host: Host<never, never>, request: never): Client
}

/** Finds the host of a request of the gate's own. */
type HostFinder = (request: never) => Host<never, never>

/** What holds for all requests, whatever rule they meet, is asked before. */
const askedBefore = ['rules', 'skip', 'allow', 'deny']

interface Ruled<Req, Res> {
  readonly table: RuleTable
  /** By the index of their rules; null where nothing is limited. */
  readonly gates: readonly (Gate<Req, Res> | null)[]
}

/** A gate for each rule, and the choice among them. */
export class RuledGates<Req, Res> implements GateChoice<Req, Res> {
  readonly #made: RuledGatesOptions<Req, Res>
  readonly #facts = new RequestFacts()
  readonly #users = new UserWatch()
  /** Whose the counters are, by the ids of rules: a rule that comes back is the same. */
  readonly #owners = new Map<string, Owner>()
  #now: Ruled<Req, Res>
  #hasWarned = false

  /** @throws HeadgateError for options that do not go with rules, and for rules that do not go with the options */
  constructor(made: RuledGatesOptions<Req, Res>) {
    const { options, settings, where } = made
    for (const [name, value] of Object.entries(pick(options, limitOptions)))
      if (name !== 'rules' && value !== undefined)
        throw badOption(name, value, 'it stands beside `rules`: put it into a rule, or leave `rules` out')
    checkNames(options, { ...settings, rules: { isRequired: true } }, where)
    const { rules } = options as { rules: RequestRules }
    if (typeof rules?.follow !== 'function')
      throw badOption('rules', rules, "give what `loadRules('limits.yaml')` of headgate/rules returns")
    this.#made = made
    this.#now = this.#ready(rules.table)
    rules.follow((next) => {
      const ready = this.#ready(next)
      return () => this.#change(ready)
    })
  }

  get usesUser(): boolean {
    const { table, gates } = this.#now
    return table.needs.user || gates.some((gate) => gate?.usesUser === true)
  }

  get usesAddress(): boolean {
    return this.#now.table.needs.address
  }

  /** Takes a request through the gates of its rules. */
  enter(host: Host<Req, Res>, request: Req, response: Res, client: Client): Outcome | PromiseLike<Outcome> {
    const { gates, table } = this.#now
    const matched = this.#match(host, request, client)
    if (table.needs.user) this.#users.see(host, request, response)
    if (matched.length > 1)
      return throughAll(
        matched.map(({ index }) => gates[index]!).filter((gate) => gate !== null),
        (gate) => gate.enter(host, request, response)
      )
    const gate = matched.length === 0 ? null : gates[matched[0]!.index]!
    return gate === null ? passed : gate.enter(host, request, response)
  }

  /** What stands for the rules of a gate: those of all its rules together. */
  get source(): RuleSource<Req> {
    const limiters = () => this.#limiters
    return {
      fixed: null,
      policies: [],
      parts: null,
      get sample() {
        return limiters()[0]!
      },
      get limiters() {
        return limiters()
      },
      forRequest: () => {
        throw noRule()
      },
      note() {},
      lastFor: () => undefined,
      forget: () => {
        for (const gate of this.#now.gates) gate?.handParts(noHost).rules.forget()
      },
      laterBlocks: null
    }
  }

  /** Their limiter by hand: by a request it is that of its rules, by what is known of somebody that of all rules. */
  handParts(finder: HostFinder, { keyOf, clientOf }: OuterHand<Req>): HandParts<Req> {
    const hostOf = finder as unknown as (request: Req) => Host<Req, never>
    const matching = (request: Req): readonly HandParts<Req>[] => {
      const host = hostOf(request)
      const client = clientOf(host as Host<never, never>, request as never)
      const matched = this.#match(host, request, client)
      const gates = matched.map(({ index }) => this.#now.gates[index]!).filter((gate) => gate !== null)
      if (gates.length === 0) throw noRule()
      return gates.map((gate) => gate.handParts(hostOf))
    }
    const all = this.#now.gates.flatMap((gate) => gate?.handParts(hostOf) ?? [])
    return {
      rules: this.source,
      keyOf,
      keyOfRequest: (request) => matching(request)[0]!.keyOfRequest(request),
      at: [],
      parts: all.flatMap(own),
      partsOf: (request) => matching(request).flatMap(own),
      watched: all.flatMap(({ watched }) => watched),
      price: (request, key, cost) => matching(request)[0]!.price(request, key, cost),
      close: () => this.close()
    }
  }

  /** Ends what the gates have waiting. */
  close(): void {
    for (const gate of this.#now.gates) gate?.close()
  }

  get #limiters(): readonly BuiltLimiter[] {
    return this.#now.gates.flatMap((gate) => gate?.handParts(noHost).rules.limiters ?? [])
  }

  #match(host: Host<Req, never>, request: Req, client: Client): readonly RequestRule[] {
    const { table } = this.#now
    const facts = this.#facts.of(host, request, client)
    if (table.needs.route && !this.#hasWarned && facts.route === undefined) {
      this.#hasWarned = true
      warnOnce(
        'HEADGATE_ROUTE_UNKNOWN',
        `Rules of ${this.#made.where} match by \`route\`, but it decides before the framework has found the route, so they ` +
          'never hold. Match by `path`, or put the limiter on the routes themselves.'
      )
    }
    return table.match(facts)
  }

  /** Gates for rules; those of rules that are there already go on. */
  #ready(table: RuleTable): Ruled<Req, Res> {
    const known = new Map(this.#now?.table.rules.map(({ id, index }) => [id, this.#now.gates[index]!]))
    return { table, gates: table.rules.map((rule) => known.get(rule.id) ?? this.#gateOf(rule)) }
  }

  #change(next: Ruled<Req, Res>): void {
    const before = this.#now
    this.#now = next
    // Who waits there, or is held, goes on as before.
    for (const gate of before.gates) if (gate !== null && !next.gates.includes(gate)) gate.forget()
    const ids = new Set(next.table.rules.map(({ id }) => id))
    for (const id of this.#owners.keys()) if (!ids.has(id)) this.#owners.delete(id)
  }

  #gateOf({ id, label, options }: RequestRule): Gate<Req, Res> | null {
    if (options === null) return null
    const { options: outer, settings, open } = this.#made
    const shared = Object.fromEntries(Object.entries(outer).filter(([name]) => !askedBefore.includes(name)))
    return open(inherit(shared, options, settings) as never, label, this.#ownerOf(id, label))
  }

  #ownerOf(id: string, label: string): Owner {
    const known = this.#owners.get(id)
    if (known !== undefined) return known
    const { owner } = this.#made
    const group = `rule:${id}`
    const made: Owner = {
      mayShare: owner.mayShare,
      mayGo: true,
      group: owner.group === undefined ? group : `${owner.group} ${group}`,
      ...(owner.place === undefined ? {} : { place: `${owner.place} ${group}` }),
      label
    }
    this.#owners.set(id, made)
    return made
  }
}

/** What a rule's limiter is by hand: itself, or its parts. */
function own<Req>(hand: HandParts<Req>): readonly HandPart<Req>[] {
  return hand.parts.length === 0 ? [hand] : hand.parts
}

function noHost(): never {
  throw noRule()
}

function noRule(): HeadgateError {
  return new HeadgateError('HEADGATE_MISUSE', 'No rule limits this request, so there is no limiter for it.')
}
