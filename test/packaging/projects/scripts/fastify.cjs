const assert = require('node:assert/strict')
const Fastify = require('fastify')
const all = require('headgate/fastify')
const { checkLimited } = require('./checks.cjs')

const { rateLimit } = require('headgate/fastify')
assert.equal(all.default, rateLimit)

async function serve(plugin) {
  const app = Fastify()
  await app.register(plugin, { limit: 1, window: '1d' })
  app.get('/', async (request) => request.rateLimit.remaining)
  await app.listen({ port: 0, host: '127.0.0.1' })
  await checkLimited(app.server.address().port)
  await app.close()
}

// Fastify takes the module itself too, for its default.
serve(rateLimit).then(() => serve(all))
