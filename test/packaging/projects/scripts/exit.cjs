const http = require('node:http')
const { createLimiter } = require('headgate')
const { rateLimit } = require('headgate/express')
const { get } = require('./checks.cjs')

createLimiter({ limit: 5, window: '365d' }).consume('a')
const limit = rateLimit({ limit: 5, window: '365d', block: '10m' })
const server = http.createServer((request, response) => limit(request, response, () => response.end()))
server.listen(0, '127.0.0.1', async () => {
  await get(server.address().port)
  server.close(() => console.log(`closed at ${Date.now()}`))
})
