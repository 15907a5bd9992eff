import Fastify from 'fastify'
import rateLimit from 'headgate/fastify'

const app = Fastify({ trustProxy: ['127.0.0.1'] })

// Stands in for your authentication: who a client is, its token says, and never the client.
const users = new Map([
  ['Bearer ada', { id: 'ada' }],
  ['Bearer bob', { id: 'bob' }]
])
app.decorateRequest('user', null)
app.addHook('onRequest', async (request) => {
  request.user = users.get(request.headers.authorization) ?? null
})

// A limit by API key holds only if clients cannot make keys up.
const apiKeys = new Set(['blue', 'green'])
const withKey = async (request, reply) => {
  if (!apiKeys.has(request.headers['x-api-key'])) return reply.code(401).send('which key?\n')
}

// Everybody, by address: 100 a minute, but for the office.
await app.register(rateLimit, {
  limit: 100,
  window: '1m',
  allow: ['203.0.113.0/24'],
  policies: { login: { limit: 2, window: '15m', strategy: 'sliding-log' } }
})

// Routes with limits of their own, instead of the plugin's.
const reports = { limit: 2, window: '1h', strategy: 'gcra', key: 'header:x-api-key' }
const uploads = { limit: 1, window: '1h', strategy: 'token-bucket', key: 'user' }

app.get('/', async () => 'hello\n')
app.post('/login', { limit: 'login' }, async () => 'welcome\n')
app.get('/reports', { limit: reports, preHandler: withKey }, async () => [])
app.post('/uploads', { limit: uploads }, async (request) => ({ left: request.rateLimit.remaining }))
app.get('/health', { limit: false }, async () => 'ok\n')

const port = process.env.PORT ?? 3000
try {
  await app.listen({ port: Number(port), host: '127.0.0.1' })
} catch (error) {
  console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
  process.exit(1)
}
const url = `http://127.0.0.1:${app.server.address().port}`
console.log(`Listening on ${url}. Try, with what each line answers:

curl -i ${url}/  # 200 with RateLimit-Policy: 100;w=60
curl -i -X POST '${url}/login?try=[1-3]'  # 200, 200, 429 with Retry-After
curl -i -H 'X-Api-Key: blue' '${url}/reports?try=[1-3]'  # 200, 200, 429 with RateLimit-Remaining: 0
curl -i -H 'X-Api-Key: green' ${url}/reports  # 200 with RateLimit-Remaining: 1
curl -i -X POST -H 'Authorization: Bearer ada' '${url}/uploads?try=[1-2]'  # 200, 429 with Retry-After
curl -i -X POST -H 'Authorization: Bearer bob' ${url}/uploads  # 200 without Retry-After
curl -i -H 'X-Forwarded-For: 203.0.113.7' ${url}/  # 200 without RateLimit-Limit
curl -i ${url}/health  # 200 without RateLimit-Limit
`)
