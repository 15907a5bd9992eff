import { fastify } from 'fastify'
import rateLimit, { keyOf, shed } from 'headgate/fastify'

export const app = fastify()
export const plugin = rateLimit
app.register(rateLimit, { limit: 5, window: '1m' })
export const hook = app.limit({ limit: 5, window: '1m' })
export const { limiter } = hook
export const decision = limiter.peek({ ip: '::1' })
export const key = keyOf('ip', '::1')
export const route = { limit: { limit: 5, window: '1m' } }
app.register(shed, { concurrency: 5, statusRoute: { url: '/alive' } })
export const shedder = shed
export const { pressure } = app
