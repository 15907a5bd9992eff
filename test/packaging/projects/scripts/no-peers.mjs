import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'
import { rateLimit } from 'headgate/express'
import plugin from 'headgate/fastify'
import { checkLimited } from './checks.cjs'

const require = createRequire(import.meta.url)
for (const peer of ['express', 'fastify'])
  assert.throws(() => require(peer), { code: 'MODULE_NOT_FOUND' }, `${peer} is installed`)
assert.equal(typeof plugin, 'function')

// The middleware of Express needs nothing of it.
const limit = rateLimit({ limit: 1, window: '1d' })
const server = http.createServer((request, response) => limit(request, response, () => response.end()))
server.listen(0, '127.0.0.1', async () => {
  await checkLimited(server.address().port)
  server.close()
})
