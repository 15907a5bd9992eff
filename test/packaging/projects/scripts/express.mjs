import assert from 'node:assert/strict'
import express from 'express'
import limit, { rateLimit } from 'headgate/express'
import { checkLimited } from './checks.cjs'

assert.equal(limit, rateLimit)

const app = express()
app.use(rateLimit({ limit: 1, window: '1d' }))
app.get('/', (request, response) => response.json(request.rateLimit.remaining))
const server = app.listen(0, '127.0.0.1', async () => {
  await checkLimited(server.address().port)
  server.close()
})
