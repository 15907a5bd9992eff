/* Jest loads the package anew for each file, and for each `jest.resetModules`, in one process. */

const limit = { limit: 1, window: '1d' }

const { get } = require('../scripts/checks.cjs')

/** Statuses of requests, one after the other. */
async function statuses(app, ...paths) {
  await app.listen({ port: 0, host: '127.0.0.1' })
  const found = []
  for (const path of paths) found.push((await get(app.server.address().port, path)).status)
  await app.close()
  return found
}

function onFastify(register) {
  const app = require('fastify')()
  app.get('/before', { limit }, async () => 'ok')
  register(app)
  app.get('/own', { limit }, async () => 'ok')
  app.get('/', async () => 'ok')
  return app
}

async function checkFastify() {
  const rateLimit = require('headgate/fastify')
  const app = onFastify((app) => app.register(rateLimit, limit))
  expect(await statuses(app, '/before', '/before', '/own', '/own', '/', '/')).toEqual([
    200, 429, 200, 429, 200, 429
  ])
}

/** Calls a middleware with a request that nobody has sent. */
function meet(middleware) {
  const response = {
    headers: {},
    getHeader: (name) => response.headers[name],
    setHeader: (name, value) => {
      response.headers[name] = value
    },
    removeHeader() {},
    once() {},
    end: () => {
      response.writableEnded = true
    }
  }
  let passed = false
  const request = { headers: {}, method: 'GET', app: {}, socket: { remoteAddress: '203.0.113.1' } }
  middleware(request, response, () => {
    passed = true
  })
  return { passed, left: request.rateLimit?.remaining }
}

function checkExpress() {
  const { rateLimit } = require('headgate/express')
  const { createLimiter, guard } = require('headgate')
  for (const middleware of [rateLimit(limit), guard.limit('ip', 1, '1d')])
    expect([meet(middleware), meet(middleware)]).toEqual([
      { passed: true, left: 0 },
      { passed: false, left: 0 }
    ])
  expect(createLimiter(limit).consume('key').allowed).toBe(true)
}

const warnings = []
process.on('warning', ({ name, message }) => {
  if (name === 'HeadgateWarning') warnings.push(message)
})

test('a file of tests', async () => {
  await checkFastify()
  checkExpress()
})

test('after jest.resetModules()', async () => {
  jest.resetModules()
  await checkFastify()
  checkExpress()
})

test('a server without the plugin, while the package is loaded', async () => {
  jest.resetModules()
  require('headgate/fastify')
  jest.resetModules()
  expect(
    await statuses(
      onFastify(() => {}),
      '/own',
      '/own'
    )
  ).toEqual([200, 200])
})

test('a decorator of one copy, read by another', () => {
  const { Limit } = require('headgate')
  jest.resetModules()
  class Reports {
    list() {}
  }
  Limit('ip', 3, '1m')(Reports.prototype, 'list')
  expect(require('headgate').limitsOf(Reports)).toMatchObject({ list: { key: 'ip', limit: 3 } })
})

test.each([
  ['legacy fake timers', () => jest.useFakeTimers({ legacyFakeTimers: true })],
  ['fake timers', () => jest.useFakeTimers()]
])('under %s', (_name, fake) => {
  fake()
  jest.resetModules()
  checkExpress()
  jest.useRealTimers()
})

test('without setImmediate, and with timers that are numbers, as in jsdom', () => {
  const { setImmediate, clearImmediate, setTimeout, setInterval } = global
  Object.assign(global, { setTimeout: () => 1, setInterval: () => 1 })
  Reflect.deleteProperty(global, 'setImmediate')
  Reflect.deleteProperty(global, 'clearImmediate')
  try {
    jest.resetModules()
    checkExpress()
  } finally {
    Object.assign(global, { setImmediate, clearImmediate, setTimeout, setInterval })
  }
})

test('raises no warning', async () => {
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})
