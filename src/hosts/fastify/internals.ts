import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Hop, TrustedHops } from '../../http/client-address.js'

const { channel } = process.getBuiltinModule('node:diagnostics_channel')

/*
 * What we rely on of Fastify, and of Node's HTTP/2, beyond their documentation. test/hosts/fastify/internals.test.ts looks at
 * each on the oldest and the newest version.
 */

/** Keeps the listener for new servers, one for all copies of this package in the process. */
const watching = Symbol.for('headgate.fastify.watch/1')

type Listener = (message: unknown) => void

/**
 * Calls back for each server that is made from now on, before it has a route. Of several copies of this package, as a
 * test runner loads them, the latest is called back for all, so that what earlier ones left behind does not pile up.
 *
 * Relies on the diagnostics channel `fastify.initialization`, which publishes `{ fastify }`. Since 4.0.
 * Without it no server is seen: the plugin says `HEADGATE_UNSEEN_ROUTES` where there are routes before it.
 */
export function onServerMade(made: (app: FastifyInstance) => void): void {
  // One object in the whole process, whatever a test runner puts in the place of globals.
  const initialization = channel('fastify.initialization') as ReturnType<typeof channel> & {
    [watching]?: Listener
  }
  const earlier = initialization[watching]
  const listener: Listener = (message) => made((message as { fastify: FastifyInstance }).fastify)
  initialization.subscribe(listener)
  initialization[watching] = listener
  if (earlier !== undefined) initialization.unsubscribe(earlier)
}

/**
 * What was asked for, as the router reads it: where `useSemicolonDelimiter` is set, what follows a `;` is query.
 *
 * Relies on `initialConfig`, which has the option at `routerOptions`, or until 5.4 at its top. Since 4.0.
 * Without it paths with a `;` are compared whole, so that rules by `path` would not hold for them.
 */
export function urlOf({ originalUrl, server }: FastifyRequest): string {
  const at = originalUrl.indexOf(';')
  if (at < 0) return originalUrl
  const config = server.initialConfig as SemicolonOptions & { readonly routerOptions?: SemicolonOptions }
  const isQuery =
    config.useSemicolonDelimiter === true || config.routerOptions?.useSemicolonDelimiter === true
  return isQuery ? originalUrl.slice(0, at) : originalUrl
}

interface SemicolonOptions {
  readonly useSemicolonDelimiter?: boolean
}

/** An `onRoute` hook. */
export type RouteHook = (this: FastifyInstance, route: RouteOptions) => void

/**
 * Runs a hook after all other `onRoute` hooks of an instance; false where that is not possible. Call it from an `onRoute`
 * hook: it holds for the route in hand.
 *
 * Relies on the symbol `fastify.hooks`, under which an instance keeps its hooks by name, and on the list of `onRoute`
 * being walked from its beginning to what is its end by then. That the hooks of routes themselves are read once all plugins
 * are loaded is relied on, too, where a limit is one of them. Since 3.0.
 * Without it a `limit` that a later `onRoute` hook sets is taken for one that was set too late, which is an error.
 */
export function runLast(app: FastifyInstance, hook: RouteHook): boolean {
  const { onRoute: hooks } = (hidden(app, 'fastify.hooks') ?? {}) as { onRoute?: unknown }
  if (!Array.isArray(hooks)) return false
  if (hooks.at(-1) === hook) return true
  const at = hooks.indexOf(hook)
  if (at !== -1) hooks.splice(at, 1)
  hooks.push(hook)
  return true
}

/**
 * The paths of a server's routes, of one below another only what it adds; null where there are none.
 *
 * Relies on `printRoutes` writing a path a line, and nothing else that begins with a slash. Since 4.0.
 * Without it a warning names other paths, or is not said.
 */
export function pathsOf(app: FastifyInstance): readonly string[] | null {
  return app.printRoutes({ commonPrefix: false }).match(/\/\S*/g)
}

/**
 * True for Fastify's reply, among the response objects of all frameworks.
 *
 * Relies on `raw` being a property of the reply itself, and `hijack` one of its methods. Since 3.0.
 * Without them a reply is taken for Express's response, whose `setHeader` it lacks: every request is an error.
 */
export function isReply(response: object): response is FastifyReply {
  // Its own property first: of Express's response all prototypes would be searched for the other, each time.
  return Object.hasOwn(response, 'raw') && 'hijack' in response
}

/** What Fastify's `ips` getter reads of a request. */
interface Probe {
  readonly ips: string[]
  raw: { headers: { 'x-forwarded-for': string }; socket: { remoteAddress: Hop } }
}

/**
 * Fastify's own `trustProxy`; null where nobody is trusted.
 *
 * Relies on the getter `ips` of requests: it is there where `trustProxy` is set, reads nothing but `raw.headers` and
 * `raw.socket`, and lists the peer, the forwarded addresses that are trusted, and the first that is not, or the last. So
 * the hops in question and one more tell how many are trusted. Since 3.0.
 * Without it nobody is trusted: clients behind a proxy share its address, and `HEADGATE_UNTRUSTED_PROXY` says so.
 */
export function trustOf(request: FastifyRequest): TrustedHops | null {
  return request.ips === undefined ? null : trustBy(Object.getPrototypeOf(request))
}

/**
 * The same where there is no request at hand but a server.
 *
 * Relies on the symbol `fastify.Request`, under which a server keeps the class of its requests. Since 4.0.
 * Without it nobody is trusted, as above; nothing but messages of gateways is read so.
 */
export function trustOfServer(app: object): TrustedHops | null {
  const { prototype } = (hidden(app, 'fastify.Request') ?? {}) as { prototype?: object }
  return prototype !== undefined && 'ips' in prototype ? trustBy(prototype) : null
}

/**
 * `trustProxy` as it was written; undefined where it cannot be seen.
 *
 * Relies on the symbol `fastify.options`, under which a server keeps its options. Since 3.0.
 * Without it a setting that counts hops is not warned of at start-up.
 */
export function trustSetting(app: FastifyInstance): unknown {
  return (hidden(app, 'fastify.options') as { trustProxy?: unknown } | undefined)?.trustProxy
}

/**
 * True where a number as `trustProxy` counts hops, and so trusts whoever connects.
 *
 * Relies on Fastify trusting nobody by a number since 5.12.1.
 * Should it count hops again, `HEADGATE_TRUST_BY_COUNT` says so at the first request that shows it.
 */
export function countsHops({ version }: FastifyInstance): boolean {
  return version.localeCompare('5.12.1', 'en', { numeric: true }) < 0
}

/** Lists of names in lower case, by the lists. */
const lowerCased = new WeakMap<readonly string[], readonly string[]>()
let lastNames: readonly string[] = []
let lastLower: readonly string[] = []

/**
 * Names of header fields as a reply keeps them. Gates give the same few lists again and again.
 *
 * Relies on `reply.header` putting each name in lower case, and on that being quick for one that is (bench/http.js: it
 * took half of the hook). Since 1.0.
 * Without it the names go out in lower case, which means the same (RFC 9110 §5.1).
 */
export function lowerCase(names: readonly string[]): readonly string[] {
  if (names === lastNames) return lastLower
  lastLower = lowerCased.get(names) ?? names.map((name) => name.toLowerCase())
  lowerCased.set(names, lastLower)
  lastNames = names
  return lastLower
}

/**
 * A body that goes out with the Content-Type that it is given.
 *
 * Relies on `reply.send` appending a charset to the media type of a text that has none, and of no bytes. Problem details
 * have none (RFC 9457 §3), so those are sent as bytes; a text is written to the socket together with the headers, which is
 * quicker (bench/http.js). Since 3.0.
 * Should bytes get one as well, that of problem details has a parameter too many.
 */
export function exactly(contentType: string, body: string): string | Buffer {
  return contentType.includes('charset') ? body : Buffer.from(body)
}

/**
 * Sets a status that whoever answers after all is free to replace: a redirect by 302, an error by its own.
 *
 * Relies on `reply.statusCode` being that of the response of Node, and on Fastify knowing by a mark of its own, which
 * `reply.code` sets, that a status is meant. Since 4.0.
 * Should the mark be made otherwise, `onLimited` redirects with the status of a denial.
 */
export function setDefaultStatus(reply: FastifyReply, status: number): void {
  reply.raw.statusCode = status
}

/** What the response of an HTTP/2 request has besides. */
interface Http2Part {
  readonly stream?: { readonly rstCode?: number; readonly destroyed: boolean } | undefined
}

/**
 * True where a response that says `finish` was sent whole.
 *
 * Relies on `stream.rstCode` of Node's HTTP/2: `finish` also comes where the client resets the stream before anything was
 * sent. Since Node 8.
 * Without it such a request counts by the status that it would have had.
 */
export function isWhole(raw: FastifyReply['raw']): boolean {
  return raw.writableEnded && !(raw as Http2Part).stream?.rstCode
}

/**
 * True once a response ended or its client went away.
 *
 * Relies on `stream.destroyed` of Node's HTTP/2, whose response may go on saying that it is open. Since Node 8.
 * Without it a request that is held goes on to its handler although nobody waits for the answer.
 */
export function isGone(raw: FastifyReply['raw']): boolean {
  return raw.closed || raw.destroyed || (raw as Http2Part).stream?.destroyed === true
}

function trustBy(prototype: object): TrustedHops {
  const probe = Object.create(prototype) as Probe
  return ([peer, ...others]) => {
    const forwarded = ['unknown', ...others.reverse()].join(', ')
    probe.raw = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: peer } }
    return probe.ips.length - 1
  }
}

/** What a server, or one that it is made of, keeps under a symbol of this description. */
function hidden(app: object, description: string): unknown {
  for (let scope: object | null = app; scope !== null; scope = Object.getPrototypeOf(scope)) {
    const key = Object.getOwnPropertySymbols(scope).find((symbol) => symbol.description === description)
    if (key !== undefined) return (scope as Record<symbol, unknown>)[key]
  }
  return undefined
}
