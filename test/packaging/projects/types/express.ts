import type { Application, Request, Response, Router } from 'express'
import { type AsyncStore, guard, memoryStore } from 'headgate'
import rateLimit, { ipKey, type RateLimitMiddleware, type RateLimitOptions } from 'headgate/express'

declare const app: Application
declare const router: Router

// Where a middleware may stand.
app.use(rateLimit({ limit: 100, window: '1m' }))
app.use(
  '/api',
  rateLimit({
    limits: [
      { limit: 10, window: '1s' },
      { limit: 1000, window: '1h' }
    ]
  })
)
router.use(rateLimit({ limit: 5, window: '15m', strategy: 'sliding-log', key: 'ip', store: memoryStore() }))
router.get('/items/:id', rateLimit({ limit: 1, window: 1000 }), (request, response) => {
  const id: string = request.params.id
  response.json({ id, left: request.rateLimit?.remaining })
})
app.post('/login', guard.limit('ip', 5, '15m'), (_request, response) => void response.json({}))
app
  .route('/export')
  .all(rateLimit({ limit: 1, window: '1m' }))
  .get((request, response) => {
    // @ts-expect-error a request that met no limiter has none
    const left: number = request.rateLimit.remaining
    response.json({ left })
  })

// The functions of the options get Express's own request and response.
export const options: RateLimitOptions = {
  limit: async (request) => (request.get('x-plan') === 'pro' ? 1000 : 10),
  window: '1m',
  key: (request) => `${ipKey(request.ip)} ${request.params.account}`,
  cost: (request) => Number(request.query.units ?? 1),
  skip: (request) => request.path === '/health',
  onLimited: (request, response, limited) => {
    const [ask, answer]: [Request, Response] = [request, response]
    answer.status(429).json({ path: ask.path, wait: limited.retryAfterMs })
  },
  countOnly: (_request, response, status) => response.locals.counts === true && status < 400
}
export const middleware: RateLimitMiddleware = rateLimit(options)

// By hand: what the answers are follows from the store.
declare const store: AsyncStore
export const had: boolean = rateLimit({ limit: 5, window: '1m' }).limiter.reset('k')
export const left: number = rateLimit({ limit: () => 5, window: '1m' }).limiter.peek({ ip: '::1' }).remaining
export const later: Promise<boolean> = rateLimit({ limit: 5, window: '1m', store }).limiter.reset({ user: 7 })
export const either: boolean | Promise<boolean> = middleware.limiter.reset([{ user: 'ada' }, '::1'])
export const asRequest = (request: Request) => middleware.limiter.block(request, '1h')
// @ts-expect-error what is known of nobody
middleware.limiter.reset({ usr: 'ada' })

// @ts-expect-error a misspelt option
rateLimit({ limit: 1, windw: '1m' })
// @ts-expect-error a misspelt option beside complete ones
rateLimit({ limit: 1, window: '1m', kye: 'ip' })
// @ts-expect-error a misspelt option of a tier
rateLimit({ limits: [{ limit: 1, window: '1m', brust: 2 }] })
// @ts-expect-error what is no key
rateLimit({ limit: 1, window: '1m', key: 'address' })
// @ts-expect-error what is no header style
rateLimit({ limit: 1, window: '1m', headers: 'draft-6' })

const plans = { free: { limit: 100, window: '1h' }, pro: { limit: 1000, window: '1h' } } as const
rateLimit({ plans, plan: (request) => (request.get('x-pro') ? 'pro' : 'free'), defaultPlan: 'free' })
rateLimit({ plans, plan: async () => undefined, defaultPlan: 'free', key: 'user' })
// @ts-expect-error a plan that there is not
rateLimit({ plans, plan: () => 'fre' as const })
// @ts-expect-error a plan that there is not
rateLimit({ plans, plan: () => 'free' as const, defaultPlan: 'fre' })
rateLimit({ limits: [{ limit: 1, window: '1m', key: (request) => request.path, cost: 2, shadow: true }] })
