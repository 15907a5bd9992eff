import type { FastifyInstance, RouteOptions } from 'fastify'
import { warn } from '../core/warn.js'
import { onServerMade, pathsOf, type RouteHook, runLast } from '../hosts/fastify/internals.js'
import { type Claim, giveClaim } from './claims.js'
import type { FastifyGate } from './limit-hook.js'
import { limitOf } from './said.js'
import type { LimitScope } from './scope.js'

/*
 * What a server remembers of its routes and of the registrations of the plugin, for all copies of this package in the
 * process: a bundler or a test runner may load several. The symbols have a version, which changes with what is kept.
 */

/** A route, and the instance that declared it. */
export interface Declared {
  readonly by: Scoped
  readonly route: RouteOptions
  /** Its `limit` before any other hook was told of it. */
  readonly first: unknown
  /** undefined for a route that said nothing of a limit. */
  claim: Claim | undefined
}

/** A server's part of it. */
export interface ServerRecord {
  /** All routes, in the order of declaration. */
  readonly routes: Map<RouteOptions, Declared>
  /** Routes of GET, and of HEAD alone, by path and constraints. */
  readonly gets: Map<string, Declared>
  readonly heads: Map<string, Declared>
  readonly scopes: LimitScope[]
  /** The gates of all limits, so that nobody waits in a line once the server is closed. */
  readonly gates: Set<FastifyGate>
  /** False while no route has a limit: then there is no need to look, and Fastify makes an object to look at. */
  hasClaims: boolean
  /** True once all plugins are loaded: then it is too late to set routes up. */
  isStarted: boolean
}

const recordOf = Symbol.for('headgate.fastify.server/2')

/** The innermost registration of the plugin around an instance; instances inherit it from their parents. */
export const innermost = Symbol.for('headgate.fastify.scope/1')

/** An instance as the plugin sees it. */
export type Scoped = FastifyInstance & { [innermost]?: LimitScope; [recordOf]?: ServerRecord }

/*
 * Fastify tells plugins of routes that are declared after they have loaded only, and a plugin whose `register` is not
 * awaited loads after the routes beside it. So each server is watched from its making on.
 */
onServerMade(watch)

/**
 * What the server of an instance remembers. One that was made before this module was loaded begins now; the routes that
 * there are by then are named in a warning.
 */
export function serverRecord(app: Scoped): ServerRecord {
  const known = app[recordOf]
  if (known !== undefined) return known
  const paths = pathsOf(app)
  if (paths !== null)
    warn(
      'HEADGATE_UNSEEN_ROUTES',
      `The server was made before headgate/fastify was loaded, so a \`limit\` of ${paths.join(', ')} is not seen: import ` +
        'headgate/fastify before the server is made, or declare the routes after the plugin has loaded.'
    )
  return watch(app)
}

/** True for the instance that the server itself is, and not one for plugins. */
export function isServer(app: Scoped): boolean {
  return Object.hasOwn(app, recordOf)
}

function watch(app: Scoped): ServerRecord {
  const record: ServerRecord = {
    routes: new Map(),
    gets: new Map(),
    heads: new Map(),
    scopes: [],
    gates: new Set(),
    hasClaims: false,
    isStarted: false
  }
  app[recordOf] = record
  // What other hooks make of a route is what counts.
  const last: RouteHook = function (this: Scoped, route) {
    const declared = record.routes.get(route)
    if (declared !== undefined) read(record, declared)
  }
  app.addHook('onRoute', function (this: Scoped, route) {
    record.routes.set(route, { by: this, route, first: limitOf(route, isAny), claim: undefined })
    if (!runLast(this, last)) last.call(this, route)
  })
  return record
}

const isAny = () => true

function read({ gets, heads }: ServerRecord, declared: Declared): void {
  const { by, route } = declared
  const methods = methodsOf(route)
  const isHead = methods.length === 1 && methods[0] === 'HEAD'
  if (methods.includes('GET')) keep(gets, declared)
  if (isHead) keep(heads, declared)
  // A HEAD route may have to count with a GET route that is still to come.
  if (isHead || limitOf(route, isAny) !== undefined) declared.claim = giveClaim(route)
  by[innermost]?.claimRoute(declared)
}

/** The methods of a route. */
export function methodsOf({ method }: RouteOptions): readonly string[] {
  return ([] as string[]).concat(method)
}

/** Of the paths with and without a slash at the end, which may be one route, the latest is found by either. */
function keep(routes: Map<string, Declared>, declared: Declared): void {
  for (const path of pathsFor(declared.route)) routes.set(path, declared)
}

/** The GET route that a route of HEAD alone belongs to, or the HEAD route of one of GET. */
export function counterpartOf({ gets, heads }: ServerRecord, { route }: Declared): Declared | undefined {
  const methods = methodsOf(route)
  const others = methods.includes('GET') ? heads : methods.length === 1 && methods[0] === 'HEAD' ? gets : null
  if (others === null) return undefined
  const [path, loose] = pathsFor(route)
  return others.get(path) ?? others.get(loose)
}

function pathsFor(route: RouteOptions): readonly [exact: string, loose: string] {
  const constraints = shownConstraints(route)
  return [`${route.url}${constraints}`, `${route.url.replace(/\/$/, '')} ${constraints}`]
}

/** What tells routes of one path apart, such as a version or a host. */
export function shownConstraints({ constraints }: RouteOptions): string {
  const all = Object.entries((constraints ?? {}) as Record<string, unknown>)
  return all
    .map(([name, value]) => ` ${name}=${String(value)}`)
    .sort()
    .join('')
}
