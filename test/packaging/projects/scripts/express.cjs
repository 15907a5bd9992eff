const assert = require('node:assert/strict')
const express = require('express')
const all = require('headgate/express')
const { checkLimited } = require('./checks.cjs')

const { rateLimit } = require('headgate/express')
assert.equal(all.default, rateLimit)

const app = express()
app.use(rateLimit({ limit: 1, window: '1d' }))
app.get('/', (request, response) => response.json(request.rateLimit.remaining))
const server = app.listen(0, '127.0.0.1', async () => {
  await checkLimited(server.address().port)
  server.close()
})
