import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import * as asModule from 'headgate'
import { rateLimit } from 'headgate/express'
import plugin from 'headgate/fastify'

const require = createRequire(import.meta.url)
const asCommonJS = require('headgate')

const onePerWindow = (name) => ({
  name,
  slots: () => 1,
  capacity: () => 1,
  check(state, at, _rule, now, _cost, out) {
    const wait = Math.max(0, state[at] - now)
    out[0] = wait === 0 ? 1 : 0
    out[1] = wait
    out[2] = wait
    return wait === 0
  },
  charge(state, at, { windowMs }, now, _cost, out) {
    state[at] = now + windowMs
    out[0] = 0
    out[2] = windowMs
  }
})

// A strategy that one format defines is one of the other: as an object and by its name.
for (const [definer, user] of [
  [asModule, asCommonJS],
  [asCommonJS, asModule]
]) {
  const name = definer === asModule ? 'by-module' : 'by-commonjs'
  const defined = definer.defineStrategy(onePerWindow(name))
  for (const strategy of [defined, name]) {
    const limiter = user.createLimiter({ limit: 1, window: '1m', strategy })
    assert.deepEqual([limiter.consume('a').allowed, limiter.consume('a').allowed], [true, false])
  }
}

// Both raise the same error.
for (const { createLimiter } of [asModule, asCommonJS])
  assert.throws(
    () => createLimiter({ limit: 'five', window: '1d' }),
    (error) =>
      error.code === 'HEADGATE_BAD_OPTION' &&
      error instanceof asModule.HeadgateError &&
      error instanceof asCommonJS.HeadgateError
  )

// Limiters of both formats share the counters of a named policy in one store.
const store = asModule.memoryStore()
const shared = { name: 'shared', limit: 1, window: '1d', store }
assert.equal(asModule.createLimiter(shared).consume('a').allowed, true)
assert.equal(asCommonJS.createLimiter(shared).consume('a').allowed, false)

// The face of an entry for ES modules has all that its CommonJS has.
for (const path of ['', '/express', '/fastify', '/redis', '/remote', '/shared'])
  assert.deepEqual({ ...(await import(`headgate${path}`)) }, { ...require(`headgate${path}`) }, path)

assert.equal(require('headgate/express').rateLimit, rateLimit)
assert.equal(require('headgate/fastify').default, plugin)
