import assert from 'node:assert/strict'
import * as core from 'headgate'
import { rateLimit } from 'headgate/express'
import plugin from 'headgate/fastify'
import { redisStore } from 'headgate/redis'
import { sharedStore } from 'headgate/shared'

assert.equal(core.createLimiter({ limit: 1, window: '1d' }).consume('a').allowed, true)
for (const store of [sharedStore({ maxKeys: 1000 }), redisStore(async () => 'PONG')])
  assert.equal(typeof core.createLimiter({ limit: 1, window: '1d', store }).consume, 'function')
assert.equal(typeof rateLimit({ limit: 1, window: '1d' }), 'function')
assert.equal(typeof plugin, 'function')
console.log('bundled')
