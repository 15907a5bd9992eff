import type { IncomingHttpHeaders, Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { AsyncKeyedLimiter, KeyedLimiter } from '../../../src/http/keyed-limiter.js'
import type { GateOptions } from '../../../src/http/options.js'
import type { RequestRateLimit } from '../../../src/http/request-rate-limit.js'
import { type Address, Client } from './client.js'

/** What requests of all frameworks have. */
export interface CommonRequest {
  readonly headers: IncomingHttpHeaders
  readonly url?: string
  readonly method?: string
  readonly params?: unknown
  user?: unknown
  rateLimit?: RequestRateLimit | null
}

/** Options of a limiter, for all frameworks alike. */
export type Options = GateOptions<CommonRequest, unknown>

/** A request and its response, as handlers of the suite see them. */
export interface Exchange {
  readonly request: CommonRequest
  /** The framework's own response object. */
  readonly response: unknown
  setHeader(name: string, value: string): void
  /** Answers. */
  send(status: number, body?: string): void
}

/** Earlier or later middleware: answers by `exchange.send`, or lets the request go on. */
export type Step = (exchange: Exchange) => void

/** Answers by `exchange.send`, or with 200 and `ok` where it does not; may throw, and may be async. */
export type Handler = (exchange: Exchange) => unknown

/** A route. */
export interface RouteSpec {
  readonly path: string
  readonly method?: 'GET' | 'POST' | 'OPTIONS'
  /** The route's own limit in place of the global one, none at all, or a policy's name. */
  readonly limit?: Options | false | string
  /** Limiters beside the global one, in order. */
  readonly also?: readonly Options[]
  /** Instances beside the global limiter, by name. */
  readonly instances?: readonly string[]
  readonly handler?: Handler
}

/** What Express and Fastify ask about each hop. */
export type TrustProxyFunction = (address: string | undefined, hop: number) => boolean

/** A server. */
export interface AppSpec {
  /** Limits every route that says nothing else, and unknown ones; several are met in order. */
  readonly global?: Options | readonly Options[]
  readonly policies?: Readonly<Record<string, Options>>
  /** Limiters that are made once and used wherever their name stands. */
  readonly instances?: Readonly<Record<string, Options>>
  /** Instances that every request meets, by name. */
  readonly globalInstances?: readonly string[]
  readonly trustProxy?: boolean | number | string | readonly string[] | TrustProxyFunction
  /** Run before the global limiter. */
  readonly before?: readonly Step[]
  /** Run after limiters and before the handlers of routes. */
  readonly after?: readonly Step[]
  /** Allows https://app.example by the framework's own CORS middleware, before the limiter. */
  readonly cors?: boolean
  /** `/` if left out. */
  readonly routes?: readonly RouteSpec[]
  /** Collects errors and answers 500; the framework's own handler if left out. */
  readonly collectErrors?: boolean
  readonly unixSocket?: boolean
  readonly maxHeaderSize?: number
}

/** A process warning of headgate. */
export interface Warning {
  readonly code: string | undefined
  readonly message: string
}

/** A server that runs. */
export interface Running extends Client {
  /** The limiters of the instances, by hand. */
  readonly limiters: Limiters
  /** What reached the error handler, with `collectErrors`. */
  readonly errors: unknown[]
  /** The warnings since the start, of one code or of all. */
  warnings(code?: string): Promise<Warning[]>
  stop(): Promise<void>
}

/** What an implementation of the suite gives. */
export interface Framework {
  readonly name: 'express4' | 'express5' | 'fastify' | 'koa' | 'nest-express' | 'nest-fastify'
  /** How its proxy setting is called. */
  readonly trustOption: string
  /** What its own errors are, and so denials where the request prefers nothing. */
  readonly denialType: 'text/plain' | 'application/json'
  /** True where a proxy setting that counts hops trusts nobody, as on Fastify since 5.12.1. */
  readonly ignoresHopCounts?: boolean
  /** True where nothing but the host is in question: what comes to the same on every framework is left out. */
  readonly isHostOnly?: boolean
  /** True where its limiters go by a store that has a clock of its own. */
  readonly hasStoreClock?: true
  /** Builds the server; it does not listen yet. */
  build(spec: AppSpec): Promise<Built>
  /** Answers through the framework's own response object. */
  reply(response: unknown, status: number, body: string): void
  /** Redirects by the framework's own means. */
  redirect(response: unknown, to: string): void
  /** A server whose handler makes a limiter for each request. */
  buildPerRequest(options: () => Options): Promise<Built>
}

/** Limiters by the name of their instance. */
export type Limiters = Readonly<Record<string, KeyedLimiter | AsyncKeyedLimiter>>

/** A server before it listens. */
export interface Built {
  readonly limiters?: Limiters
  readonly server: Server
  readonly errors: unknown[]
  /** Closes everything that is not the server itself. */
  close(): Promise<void>
}

/** A clock that only tests move. */
export interface ManualClock {
  now: number
  readonly read: () => number
  /** Moves on by so many ms. */
  pass(ms: number): void
}

/** Whole hours, minutes and seconds: windows aligned to the clock begin here. */
export const start = 1_699_999_200_000

export function manualClock(now = start): ManualClock {
  const clock = {
    now,
    read: () => clock.now,
    pass(ms: number) {
      clock.now += ms
    }
  }
  return clock
}

/** The field by which a test says what peer a request comes from. */
export const peerField = 'x-test-peer'

/** Where warnings are put down, one list a server. One listener serves all. */
const hearers = new Set<Warning[]>()
process.on('warning', ({ name, code, message }: Error & { code?: string }) => {
  if (name === 'HeadgateWarning') for (const heard of hearers) heard.push({ code, message })
})

/** Starts servers for a suite, and closes them after each test. */
export function servers(framework: Framework) {
  const running: Running[] = []
  afterEach(async () => {
    for (const app of running.splice(0)) await app.stop()
  })
  return async (spec: AppSpec | Promise<Built>): Promise<Running> => {
    const heard: Warning[] = []
    hearers.add(heard)
    forgetWarnings()
    const built = await (spec instanceof Promise ? spec : framework.build(spec))
    const address = await listen(built.server, !(spec instanceof Promise) && spec.unixSocket === true)
    const app = Object.assign(new Client(address), {
      errors: built.errors,
      limiters: built.limiters ?? {},
      async warnings(code?: string) {
        await turns()
        return heard.filter((warning) => code === undefined || warning.code === code)
      },
      async stop() {
        hearers.delete(heard)
        Client.prototype.close.call(app)
        built.server.closeAllConnections()
        await built.close()
      }
    })
    running.push(app)
    return app
  }
}

/** Has what a process says once be said again, as in another process. */
export function forgetWarnings(): void {
  const { [Symbol.for('headgate.said/1')]: said } = globalThis as Record<symbol, Set<string> | undefined>
  said?.clear()
}

/** Lets everything that is already due happen. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Waits, without a timer of its own, until something holds that sockets bring about. */
export async function until(holds: () => boolean, withinMs = 2000): Promise<void> {
  const end = performance.now() + withinMs
  while (!holds()) {
    if (performance.now() > end) throw new Error(`after ${withinMs} ms it still does not hold: ${holds}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** What a promise comes to within so many ms, or `'pending'`. */
export function within<T>(promise: Promise<T>, ms: number): Promise<T | 'pending'> {
  let timer: NodeJS.Timeout
  const late = new Promise<'pending'>((resolve) => {
    // No sleep but a bound: it ends the wait for a promise that may stay pending.
    timer = setTimeout(resolve, ms, 'pending')
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Runs something and returns the rejections that nobody handled. */
export async function unhandledDuring(run: () => Promise<unknown>): Promise<unknown[]> {
  const others = process.listeners('unhandledRejection')
  const found: unknown[] = []
  const note = (reason: unknown) => void found.push(reason)
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', note)
  try {
    await run()
    await turns()
  } finally {
    process.off('unhandledRejection', note)
    for (const other of others) process.on('unhandledRejection', other)
  }
  return found
}

/** Watches the timers of more than 10 s that anything here starts; `stop` ends the watch. */
export function watchLongTimers(): { running(): number; stop(): void } {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const running = new Set<unknown>()
  globalThis.setTimeout = Object.assign(
    (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
      const timer: unknown = set(() => {
        running.delete(timer)
        run(...args)
      }, ms)
      if (ms !== undefined && ms > 10_000) running.add(timer)
      return timer
    },
    set
  ) as typeof setTimeout
  globalThis.clearTimeout = (timer) => {
    running.delete(timer)
    clear(timer)
  }
  return {
    running: () => running.size,
    stop() {
      globalThis.setTimeout = set
      globalThis.clearTimeout = clear
    }
  }
}

/** How many timers keep the process alive. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

/** A promise that a test resolves. */
export function gate<T = void>(): {
  readonly promise: Promise<T>
  open(value: T): void
  fail(error: unknown): void
} {
  let open!: (value: T) => void
  let fail!: (error: unknown) => void
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { promise, open, fail }
}

let sockets = 0

async function listen(server: Server, isUnix: boolean): Promise<Address> {
  server.prependListener('request', (request) => setPeer(request.socket, request.headers[peerField]))
  const socketPath = join(tmpdir(), `headgate-${process.pid}-${sockets++}.sock`)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (isUnix) server.listen(socketPath, resolve)
    else server.listen(0, '127.0.0.1', resolve)
  })
  if (isUnix) return { socketPath }
  return { port: (server.address() as { port: number }).port }
}

/** Makes a connection say that it comes from an address; `none` for a socket that has none any more. */
function setPeer(socket: object, peer: string | string[] | undefined): void {
  if (peer === undefined) Reflect.deleteProperty(socket, 'remoteAddress')
  else
    Object.defineProperty(socket, 'remoteAddress', {
      configurable: true,
      value: peer === 'none' ? undefined : peer
    })
}

/** The limiters of instances. */
export function limitersOf(
  instances: Readonly<Record<string, { readonly limiter: Limiters[string] }>>
): Limiters {
  return Object.fromEntries(Object.entries(instances).map(([name, { limiter }]) => [name, limiter]))
}

/** One or several, as several. */
export function many<T extends object>(value: T | readonly T[] | undefined): readonly T[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value as T]
}
