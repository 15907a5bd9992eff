import assert from 'node:assert/strict'
import Fastify from 'fastify'
import plugin, { rateLimit } from 'headgate/fastify'
import { checkLimited } from './checks.cjs'

assert.equal(plugin, rateLimit)

const app = Fastify()
await app.register(plugin, { limit: 1, window: '1d' })
app.get('/', async (request) => request.rateLimit.remaining)
await app.listen({ port: 0, host: '127.0.0.1' })
await checkLimited(app.server.address().port)
await app.close()
