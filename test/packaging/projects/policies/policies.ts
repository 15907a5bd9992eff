import { fastify } from 'fastify'
import rateLimit from 'headgate/fastify'

declare module 'headgate/fastify' {
  interface LimitPolicies {
    login: true
  }
}

const app = fastify()
app.register(rateLimit, { policies: { login: { limit: 5, window: '15m' } } })
app.post('/login', { limit: 'login' }, () => 1)
app.post('/config', { config: { limit: 'login' } }, () => 1)
app.post('/hook', { onRequest: app.limit('login') }, () => 1)

// @ts-expect-error there is no such policy
app.post('/login', { limit: 'logni' }, () => 1)
// @ts-expect-error there is no such policy
app.post('/login', { config: { limit: 'logni' } }, () => 1)

// @ts-expect-error there is no such policy
app.post('/login', { onRequest: app.limit('logni') }, () => 1)
// @ts-expect-error there is no such policy
app.register(rateLimit, { policies: { logni: { limit: 5, window: '15m' } } })
