import Fastify from 'fastify'
import { createLimiter } from 'headgate'
import rateLimit from 'headgate/fastify'
import { get } from './checks.cjs'

createLimiter({ limit: 5, window: '365d' }).consume('a')
const app = Fastify()
await app.register(rateLimit, { limit: 5, window: '365d', block: '10m' })
app.get('/', async () => 'hello')
await app.listen({ port: 0, host: '127.0.0.1' })
await get(app.server.address().port)
await app.close()
console.log(`closed at ${Date.now()}`)
