// One limit for this server and the Express one beside it: see README.md.
import Fastify from 'fastify'
import rateLimit from 'headgate/fastify'
import { redisStore } from 'headgate/redis'
import { createClient } from 'redis'

const client = createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
client.on('error', () => {}) // it reconnects by itself, and the store tells of outages
client.connect().catch(() => {}) // rejects only if the server is stopped before Redis was there
const store = redisStore(client, { prefix: 'example:', onStoreError: 'local', share: 1 / 2 })

const app = Fastify()
await app.register(rateLimit, { name: 'api', limit: 6, window: '1h', key: 'header:x-api-key', store })
app.get('/', async (request) => `hello, by ${request.rateLimit.source}\n`)
app.get('/health', { limit: false }, async () => ({ redis: store.isAvailable }))

const port = process.env.PORT ?? 3001
try {
  await app.listen({ port: Number(port), host: process.env.HOST ?? '127.0.0.1' })
} catch (error) {
  console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
  process.exit(1)
}
const url = `http://127.0.0.1:${app.server.address().port}`
console.log(`Fastify listens on ${url}. Try, after the lines of the Express server:

curl -i -H 'X-Api-Key: green' ${url}/  # 429 with RateLimit-Remaining: 0
curl -i -H 'X-Api-Key: blue' '${url}/?try=[1-2]'  # 200, 200 with RateLimit-Remaining: 3
curl -i ${url}/health  # 200 without RateLimit-Limit
`)

process.once('SIGTERM', async () => {
  await app.close()
  await store.close()
  client.destroy() // `close` and `quit` would wait for a Redis that does not answer
})
