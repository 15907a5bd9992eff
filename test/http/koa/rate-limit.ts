import type { Context, Middleware } from 'koa'
import {
  type AsyncKeyedLimiter,
  addressMatcher,
  admits,
  canonicalAddress,
  Gate,
  type GateOptions,
  gatePlan,
  type Host,
  hasBody,
  hopByHop,
  isResponseOver,
  type KeyedLimiter,
  limiterBehind,
  onResponseOver,
  type RequestRateLimit,
  type TrustedHops,
  TurnWatch
} from '../../../src/http/index.js'

/** What users' functions get, as request and as response. */
export type KoaContext = Context & { rateLimit?: RequestRateLimit }

const koaHost: Host<KoaContext, KoaContext> = {
  method: (ctx) => ctx.method,
  url: (ctx) => ctx.originalUrl,
  header: ({ headers }, name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
  hasBody: (ctx) => hasBody(ctx.req),
  socket: (ctx) => ctx.req.socket,
  trust: ({ app }) => trustOf(app.proxy),
  trustSetting: ({ app }) => app.proxy,
  trustOption: 'proxy',
  ip: () => undefined,
  setRecord(ctx, record) {
    ctx.rateLimit = record
  },
  headerNames: (ctx) => ctx.res.getHeaderNames(),
  getHeader: (ctx, name) => ctx.response.get(name) || undefined,
  setHeaders(ctx, names, values) {
    for (const [i, name] of names.entries()) if (values[i] !== '') ctx.set(name, values[i]!)
  },
  removeHeader: (ctx, name) => ctx.remove(name),
  hasAnswered: (ctx) => ctx.respond === false || ctx.res.writableEnded,
  // In Koa to set a body is to answer.
  watchAnswer(ctx) {
    const { body } = ctx
    return { hasBegun: () => ctx.body !== body, stop() {} }
  },
  isOnWire: (ctx) => ctx.headerSent,
  status: (ctx) => ctx.status,
  sentStatus: (ctx) => ctx.res.statusCode,
  setStatus(ctx, status) {
    ctx.status = status
  },
  send(ctx, { contentType, body }) {
    ctx.set('Content-Type', contentType)
    ctx.body = body
  },
  sendValue(ctx, value) {
    ctx.body = value
  },
  cutShort(ctx) {
    ctx.res.on('error', () => {}).end()
  },
  isClosed: ({ res }) => isResponseOver(res),
  onEnd: ({ res }, ended) => onResponseOver(res, ended)
}

/** Koa knows true and false alone; ranges and a number of hops are for limiters. */
function trustOf(setting: unknown): TrustedHops | null {
  if (typeof setting === 'number') return (hops) => Math.min(setting, hops.length)
  if (setting === true) return (hops) => hops.length
  if (typeof setting === 'function') return hopByHop(setting as Parameters<typeof hopByHop>[0])
  const list = typeof setting === 'string' ? [setting] : (setting as string[] | undefined)
  if (!list || /^\d+$/.test(list[0]!)) return null
  const matches = addressMatcher('proxy', list)
  return hopByHop((hop) => matches(hop === undefined ? 'unix' : (canonicalAddress(hop) ?? hop)))
}

/** A middleware that limits, and its limiter by hand. */
export interface LimitMiddleware extends Middleware {
  readonly limiter: KeyedLimiter | AsyncKeyedLimiter
}

export function rateLimit(options: GateOptions<KoaContext, KoaContext>): LimitMiddleware {
  const plan = gatePlan(options, 'rateLimit')
  const gate = new Gate(plan)
  const watch = new TurnWatch()
  const middleware: Middleware = async (ctx, next) => {
    watch.see(ctx, ({ app }) => app)
    if (await admits(gate, koaHost, ctx, ctx)) await next()
  }
  return Object.assign(middleware, {
    limiter: limiterBehind(
      () => gate,
      () => koaHost
    )
  })
}
