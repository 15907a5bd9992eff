// One limit for this server and the Fastify one beside it: see README.md.
import express from 'express'
import { rateLimit } from 'headgate/express'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
client.on('error', () => {}) // it reconnects by itself, and the store tells of outages
const store = redisStore(client, { prefix: 'example:', onStoreError: 'local', share: 1 / 2 })

const app = express()
app.get('/health', (_request, response) => response.json({ redis: store.isAvailable }))
app.use(rateLimit({ name: 'api', limit: 6, window: '1h', key: 'header:x-api-key', store }))
app.get('/', (request, response) => response.send(`hello, by ${request.rateLimit.source}\n`))

const port = process.env.PORT ?? 3000
const server = app.listen(Number(port), process.env.HOST ?? '127.0.0.1', (error) => {
  if (error) {
    console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
    process.exit(1)
  }
  const url = `http://127.0.0.1:${server.address().port}`
  console.log(`Express listens on ${url}. Try, with what each line answers:

curl -i -H 'X-Api-Key: blue' ${url}/  # 200 with RateLimit-Policy: 6;w=3600
curl -i -H 'X-Api-Key: green' '${url}/?try=[1-7]'  # 200, 200, 200, 200, 200, 200, 429 with Retry-After
curl -i ${url}/health  # 200 without RateLimit-Limit
`)
})

process.once('SIGTERM', () => {
  server.close(async () => {
    await store.close()
    client.disconnect() // `quit` would wait for a Redis that does not answer
  })
})
