import express from 'express'
import { rateLimit } from 'headgate/express'

const app = express()
app.set('trust proxy', 'loopback')

// Stands in for your authentication: who a client is, its token says, and never the client.
const users = new Map([
  ['Bearer ada', { id: 'ada' }],
  ['Bearer bob', { id: 'bob' }]
])
app.use((request, _response, next) => {
  request.user = users.get(request.get('authorization'))
  next()
})

// A limit by API key holds only if clients cannot make keys up.
const apiKeys = new Set(['blue', 'green'])
const withKey = (request, response, next) =>
  apiKeys.has(request.get('x-api-key')) ? next() : response.status(401).send('which key?\n')

// Everybody, by address: 100 a minute, but for health checks and the office.
app.use(
  rateLimit({
    limit: 100,
    window: '1m',
    skip: (request) => request.path === '/health',
    allow: ['203.0.113.0/24']
  })
)

// Routes with limits of their own.
const login = rateLimit({ name: 'login', limit: 2, window: '15m', strategy: 'sliding-log' })
const reports = rateLimit({
  name: 'reports',
  limit: 2,
  window: '1h',
  strategy: 'gcra',
  key: 'header:x-api-key'
})
const uploads = rateLimit({ name: 'uploads', limit: 1, window: '1h', strategy: 'token-bucket', key: 'user' })

app.get('/', (_request, response) => response.send('hello\n'))
app.post('/login', login, (_request, response) => response.send('welcome\n'))
app.get('/reports', withKey, reports, (_request, response) => response.json([]))
app.post('/uploads', uploads, (request, response) => response.json({ left: request.rateLimit.remaining }))
app.get('/health', (_request, response) => response.send('ok\n'))

const port = process.env.PORT ?? 3000
const server = app.listen(Number(port), '127.0.0.1', (error) => {
  if (error) {
    console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
    process.exit(1)
  }
  const url = `http://127.0.0.1:${server.address().port}`
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
})
