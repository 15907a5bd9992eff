const assert = require('node:assert/strict')
const http = require('node:http')

/** One request on a connection of its own: its status and headers. */
function get(port, path = '/') {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().once('end', () => resolve({ status: response.statusCode, headers: response.headers }))
    })
    request.once('error', reject)
  })
}

/** The second of two requests to a server that allows one is denied, and both say so. */
async function checkLimited(port) {
  const first = await get(port)
  const second = await get(port)
  assert.deepEqual([first.status, second.status], [200, 429])
  assert.equal(first.headers['ratelimit-remaining'], '0')
  assert.match(second.headers['retry-after'], /^\d+$/)
}

function checkCore({ createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders }) {
  const limiter = createLimiter({ limit: 1, window: '1d', store: memoryStore({ maxKeys: 10 }) })
  assert.equal(limiter.consume('a').allowed, true)
  const denied = limiter.consume('a')
  assert.equal(denied.allowed, false)
  assert.match(toHeaders(denied)['Retry-After'], /^\d+$/)
  assert.equal(typeof defineStrategy, 'function')
  assert.equal(typeof guard.limit('ip', 1, '1m'), 'function')
  assert.throws(
    () => createLimiter({ limit: 0, window: '1d' }),
    (error) => error instanceof HeadgateError && error.code === 'HEADGATE_BAD_OPTION'
  )
}

module.exports = { checkCore, checkLimited, get }
