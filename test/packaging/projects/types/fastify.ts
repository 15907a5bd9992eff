import { fastify } from 'fastify'
import { guard, memoryStore } from 'headgate'
import rateLimit, {
  type FastifyRouteLimit,
  ipKey,
  type RateLimitPluginOptions,
  type RouteLimit
} from 'headgate/fastify'

const app = fastify()

export const options: RateLimitPluginOptions = {
  limit: 100,
  window: '1m',
  store: memoryStore(),
  policies: { login: { limit: 5, window: '15m', strategy: 'sliding-log' } }
}
app.register(rateLimit, options)
app.register(rateLimit, { limit: async (request) => (request.headers['x-plan'] ? 1000 : 10), window: '1m' })
app.register(rateLimit, { limits: [{ limit: 10, window: '1s' }] })
app.register(rateLimit)

// What a route may say.
app.get('/object', { limit: { limit: 5, window: '1m', strategy: 'token-bucket', key: 'user' } }, () => 1)
app.get('/off', { limit: false }, () => 1)
app.get('/policy', { limit: 'login' }, () => 1)
app.get('/text', { limit: { limit: 5, window: '1 minute' } }, () => 1)
app.get('/tiers', { limit: { limits: [{ limit: (request) => request.ip.length, window: 60_000 }] } }, () => 1)
app.get(
  '/function',
  { limit: { limit: async (request) => (request.headers['x-plan'] ? 10 : 5), window: '1m' } },
  () => 1
)
app.route({ method: 'GET', url: '/route', limit: { limit: 5, window: 1000 }, handler: () => 1 })
app.post('/guard', { onRequest: guard.limit('ip', 5, '15m') }, () => 1)
app.get<{ Params: { id: string } }>('/items/:id', { limit: { limit: 1, window: '1m' } }, (request) =>
  request.params.id.toUpperCase()
)

// A route's config holds what else its owner likes.
app.get('/config', { config: { role: 'admin' } }, (request) => request.routeOptions.config.role.length)
app.get('/both', { config: { limit: { limit: 1, window: '1m' }, role: 'admin' } }, () => 1)
app.route({ method: 'GET', url: '/third', config: { limit: false, role: 'admin' }, handler: () => 1 })

// What the plugin adds.
app.get('/hook', { preHandler: app.limit({ limit: 1, window: '1m' }) }, (request) => {
  const left: number | undefined = request.rateLimit?.remaining
  // @ts-expect-error a request that met no limiter has none
  const always: number = request.rateLimit.remaining
  request.rateLimit?.charge(3)
  return { left, always }
})

// The functions of the options get Fastify's own request and reply.
export const own: FastifyRouteLimit = {
  limit: 5,
  window: '1m',
  hook: 'preHandler',
  key: (request) => `${ipKey(request.ip)} ${request.routeOptions.url}`,
  onLimited: (_request, reply, limited) => reply.code(429).send({ wait: limited.retryAfterMs })
}
export const off: RouteLimit = false

// @ts-expect-error a misspelt option of a route's limit
app.get('/', { limit: { limit: 5, windw: '1m' } }, () => 1)
// @ts-expect-error a misspelt option beside complete ones
app.get('/', { limit: { limit: 5, window: '1m', kye: 'ip' } }, () => 1)
// @ts-expect-error a misspelt option in the config
app.get('/', { config: { limit: { limit: 5, windw: '1m' } } }, () => 1)
// @ts-expect-error a misspelt route option
app.get('/', { limti: { limit: 5, window: '1m' } }, () => 1)
// @ts-expect-error what says nothing
app.get('/', { limit: true }, () => 1)
// @ts-expect-error a misspelt option of the plugin
app.register(rateLimit, { limit: 1, window: '1m', polices: {} })
// @ts-expect-error a misspelt option of one of its policies
app.register(rateLimit, { policies: { login: { limit: 1, windw: '1m' } } })
// @ts-expect-error a window is missing
app.register(rateLimit, { limit: 1 })
// @ts-expect-error what is no hook for a limiter
app.register(rateLimit, { limit: 1, window: '1m', hook: 'onSend' })
// @ts-expect-error a misspelt option of a hook
app.limit({ limit: 1, window: '1m', kye: 'ip' })
