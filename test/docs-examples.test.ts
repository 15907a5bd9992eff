import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run as check } from '../src/cli/run.js'
import { parseRules } from '../src/rules/index.js'
import { block, markedAs, pages, run, runDecorated, runFile, runNest } from './support/readme.js'

/** Most examples start a server, in a process of their own. */
const timeout = 60_000

describe('the examples of docs/options.md', { timeout }, () => {
  it('shares a policy between routes', () => {
    const check = `
      const first = await app.inject({ method: 'POST', url: '/login' })
      const second = await app.inject({ method: 'POST', url: '/token' })
      console.log(JSON.stringify([first, second].map((r) => r.headers['ratelimit-limit'])))`
    expect(run('policies', check)).toEqual(['5', '5'])
  })

  it('blocks and resets by hand', () => {
    expect(run('by-hand', 'console.log(wasThere)')).toBe(true)
  })

  it('counts what is in flight', () => {
    const check = `
      const held = []
      app.get('/reports', (_request, response) => void held.push(response))
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port + '/reports'
      const asked = Array.from({ length: 14 }, () => fetch(url).then(({ status }) => status))
      const first = await Promise.race(asked)
      let served = 0
      while (served < 13) {
        for (const response of held.splice(0)) {
          served++
          response.end('done')
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
      const statuses = await Promise.all(asked)
      console.log(JSON.stringify({ first, served: statuses.filter((status) => status === 200).length }))
      server.close()
      server.closeAllConnections()`
    expect(run('in-flight', check)).toEqual({ first: 429, served: 13 })
  })

  it('acquires and runs', () => {
    const check = "console.log(JSON.stringify([permit.allowed, report, limiter.peek('tenant:7').remaining]))"
    expect(run('in-flight-run', check)).toEqual([true, 'the report', 2])
  })

  it('guards a route of either framework', () => {
    const check = `
      const server = onExpress.listen(0)
      const url = 'http://localhost:' + server.address().port
      const byExpress = []
      const byFastify = []
      for (let i = 0; i < 6; i++) {
        byExpress.push((await fetch(url + '/login', { method: 'POST' })).status)
        byFastify.push((await onFastify.inject({ method: 'POST', url: '/login' })).statusCode)
      }
      console.log(JSON.stringify({ byExpress, byFastify }))
      server.close()
      server.closeAllConnections()`
    const expected = [200, 200, 200, 200, 200, 429]
    expect(run('guard', check)).toEqual({ byExpress: expected, byFastify: expected })
  })

  it('serves the recipes', () => {
    const check = `
      const server = app.listen(0)
      const send = async (path, body, headers = {}) => {
        const url = 'http://localhost:' + server.address().port + path
        const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body) }
        const response = await fetch(url, init)
        return [response.status, response.headers.get('ratelimit-remaining'), await response.text()]
      }
      const wrong = { account: 'ada', password: 'guess' }
      const right = { account: 'ada', password: 'secret' }
      const seen = []
      for (const body of [right, right, right, wrong, wrong, right]) seen.push(await send('/login', body))
      const refused = await send('/unlock', { account: 'ada' }, { 'x-api-key': 'key-of-ada' })
      const desk = { 'x-api-key': 'key-of-grace' }
      seen.push(await send('/unlock', { account: 'ada' }, desk), await send('/login', right))
      const batch = await send('/batch', [1, 2, 3])
      const keys = ['key-of-ada', 'key-of-bob', 'constructor', '__proto__', undefined]
      const plans = []
      for (const key of keys) plans.push((await send('/api', {}, key && { 'x-api-key': key }))[1])
      const odd = []
      const hostile = { toString: 1, valueOf: 1 }
      const bodies = [undefined, {}, [], [null], 'text', 7, { account: '' }, { password: 'secret' }]
      for (const account of [null, 7, [], {}, hostile, 'constructor', '__proto__', ' ', 'a'.repeat(5000)])
        bodies.push({ account, password: hostile }, [account])
      for (const path of ['/login', '/unlock', '/batch', '/api', '/%E0%A4%A'])
        for (const body of bodies)
          for (const headers of [{}, desk, { 'x-plan': 'constructor', 'x-api-key': 'toString' }])
            odd.push((await send(path, body, headers))[0])
      for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
        for (const body of ['', '{', 'null', '{"__proto__":{"account":"ada"}}', 'account=ada'])
          odd.push((await fetch('http://localhost:' + server.address().port + '/login', { method: 'POST', headers: { 'content-type': type }, body })).status)
      console.log(JSON.stringify({ seen, refused: refused[0], batch: batch[1], plans, odd }))
      server.close()
      server.closeAllConnections()`
    const { seen, refused, batch, plans, odd } = run('recipes', check) as {
      seen: [number, string, string][]
      refused: number
      batch: string
      plans: string[]
      odd: number[]
    }
    expect(seen.map(([status]) => status)).toEqual([200, 200, 200, 401, 401, 429, 200, 200])
    expect(JSON.parse(seen[5]![2])).toEqual({ error: 'locked', seconds: expect.any(Number) })
    expect([refused, batch, plans]).toEqual([403, '97', ['999', '9', '4', '3', '2']])
    expect(odd.length).toBeGreaterThan(300)
    expect(odd.filter((status) => status >= 500)).toEqual([])
  })
})

describe('the example of docs/bans.md', { timeout }, () => {
  it('bans, lists and lifts', () => {
    const check = `
      const { remaining } = limiter.peek('203.0.113.7')
      console.log(JSON.stringify({ bans, remaining }))`
    expect(run('ban', check)).toEqual({
      bans: [{ key: '203.0.113.7', remainingMs: expect.any(Number) }],
      remaining: 100
    })
  })
})

describe('the example of docs/strategies.md', { timeout }, () => {
  it('admits by a strategy of your own', () => {
    const check = `
      const allowed = Array.from({ length: 12 }, () => limiter.consume('k').allowed)
      const { remaining, retryAfterMs } = limiter.consume('k', 4)
      console.log(JSON.stringify({ allowed: allowed.filter(Boolean).length, remaining, slow: retryAfterMs > 7000 }))`
    expect(run('two-speed', check)).toEqual({ allowed: 10, remaining: 0, slow: true })
  })
})

describe('the examples of docs/calendar.md', { timeout }, () => {
  // They count months in memory, and are warned of it.
  const env = { NODE_NO_WARNINGS: '1' }

  it('counts by the month', () => {
    const check = `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port
      const answer = await fetch(url, { headers: { 'x-api-key': 'a' } })
      console.log(JSON.stringify([answer.status, answer.headers.get('ratelimit-policy')]))
      server.close()
      server.closeAllConnections()`
    expect(run('calendar', check, env)).toEqual([200, '10000;w=2678400, 100;w=60'])
  })

  it('goes on after a restart', () => {
    const file = join(tmpdir(), `headgate-quotas-${process.pid}.bin`)
    // As a host stops it: a server would go on.
    const check = `
      console.log(remaining)
      setInterval(() => {}, 1000)
      process.kill(process.pid, 'SIGTERM')`
    const start = () => run('save', check, { ...env, QUOTAS: file })
    try {
      expect([start(), start(), start()]).toEqual([9999, 9998, 9997])
    } finally {
      rmSync(file, { force: true })
    }
  })
})

describe('the example of docs/threads.md', { timeout }, () => {
  it('holds one limit in four threads', () => {
    expect(runFile('shared').sort()).toEqual(['96', '97', '98', '99'])
  })
})

describe('the example of docs/proxies.md', { timeout }, () => {
  it('tells the clients of a Unix socket apart', () => {
    const check = `
      import { createServer, get } from 'node:http'
      import { tmpdir } from 'node:os'
      app.get('/', (request, response) => response.json(request.rateLimit.key))
      const socketPath = tmpdir() + '/headgate-nginx-' + process.pid + '.sock'
      const server = createServer(app).listen(socketPath)
      await new Promise((resolve) => server.once('listening', resolve))
      const key = (forwarded) => new Promise((resolve) => {
        const headers = { 'x-forwarded-for': forwarded }
        get({ socketPath, headers, agent: false }, (response) => response.on('data', (data) => resolve(JSON.parse(data))))
      })
      console.log(JSON.stringify([await key('203.0.113.7'), await key('192.0.2.1, 203.0.113.8')]))
      server.close()`
    expect(run('nginx', check)).toEqual(['203.0.113.7', '203.0.113.8'])
  })
})

describe('the example of docs/remote.md', { timeout }, () => {
  it('counts in a store of your own', () => {
    const check = `
      const decisions = await Promise.all(Array.from({ length: 7 }, () => limiter.consume('k')))
      console.log(JSON.stringify(decisions.map(({ allowed, remaining, source }) => [allowed, remaining, source])))`
    expect(run('backend', check)).toEqual([
      ...[4, 3, 2, 1, 0].map((left) => [true, left, 'store']),
      [false, 0, 'store'],
      [false, 0, 'store']
    ])
  })
})

describe('the example of docs/decorators.md', { timeout }, () => {
  it('limits plain classes', () => {
    const paths = ['list', 'search', 'list', ...Array.from({ length: 4 }, () => 'create')]
    const check = `
      const server = app.listen(0)
      const seen = []
      for (const path of ${JSON.stringify([...paths, 'health', 'health', 'health'])})
        seen.push((await fetch('http://localhost:' + server.address().port + '/' + path)).status)
      console.log(JSON.stringify(seen))
      server.close()
      server.closeAllConnections()`
    expect(runDecorated('classes', check)).toEqual([200, 200, 429, 200, 200, 200, 429, 200, 200, 200])
  })
})

describe('the example of docs/nestjs.md', { timeout }, () => {
  it('limits by a policy and a service', () => {
    const json = "{ 'content-type': 'application/json' }"
    const login = (account: unknown) => `post('/login', ${json}, '${JSON.stringify({ account })}')`
    const desk = "{ authorization: 'Bearer token-of-grace' }"
    const odd = [null, 7, {}, { toString: 1, valueOf: 1 }, '__proto__', ''].map(login)
    const requests = [
      ...Array.from({ length: 6 }, () => login('ada')),
      "get('/tries/ada')",
      "post('/unlock/ada')",
      `get('/tries/ada', ${desk})`,
      `post('/unlock/ada', ${desk})`,
      login('ada'),
      ...odd,
      "post('/login')",
      `post('/login', ${json}, '{')`
    ]
    const seen = runNest('nest-service', 'express', requests) as [number, string][]
    const expected = [201, 201, 201, 201, 201, 429].map((status) => [status, '5'])
    expect(seen.slice(0, 11)).toEqual([
      ...expected,
      [403, '100'],
      [403, '100'],
      [200, '100'],
      [201, '100'],
      [201, '5']
    ])
    expect(seen.filter(([status]) => status >= 500)).toEqual([])
  })
})

describe('the examples of docs/slowing-down.md', { timeout }, () => {
  it('holds what is over a part of the limit', () => {
    const check = `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port + '/search'
      const texts = []
      const from = performance.now()
      for (let i = 0; i < 6; i++) texts.push(await (await fetch(url)).text())
      const isHeld = performance.now() - from >= 499
      console.log(JSON.stringify({ texts, isHeld }))
      server.close()
      server.closeAllConnections()`
    const texts = [0, 0, 0, 0, 0, 500].map((ms) => `held for ${ms} ms`)
    expect(run('slowing-down', check)).toEqual({ texts, isHeld: true })
  })

  it('stands before a limit of what is in flight', () => {
    const check = `
      app.get('/', (req, res) => res.json([req.rateLimit.policy.name, req.rateLimit.previous.policy.name]))
      const server = app.listen(0)
      const response = await fetch('http://localhost:' + server.address().port)
      console.log(JSON.stringify(await response.json()))
      server.close()
      server.closeAllConnections()`
    expect(run('slowing-down-in-flight', check)).toEqual(['busy', 'pace'])
  })

  it('leaves it to you without a framework', () => {
    expect(run('slowing-down-by-hand', 'console.log(JSON.stringify(delays))')).toEqual([0, 0, 1000, 0, 2000])
  })
})

describe('the examples of docs/migrating.md', { timeout }, () => {
  it.each(['throttler-before', 'throttler-after'])('do the same: %s', (name) => {
    const requests = [
      ...Array.from({ length: 4 }, () => "get('/')"),
      ...['a', 'a', 'a', 'b'].map((key) => `get('/search', { 'x-api-key': '${key}' })`),
      ...Array.from({ length: 4 }, () => "get('/health')"),
      "get('/')"
    ]
    const statuses = (runNest(name, 'express', requests) as [number][]).map(([status]) => status)
    expect(statuses).toEqual([200, 200, 200, 429, 200, 200, 429, 200, 200, 200, 200, 200, 429])
  })

  it.each(['slow-down-before', 'slow-down-after'])('slow down alike: %s', (name) => {
    const check = `
      const server = app.listen(0)
      const delays = []
      for (let i = 0; i < 10; i++)
        delays.push(await (await fetch('http://localhost:' + server.address().port)).json())
      console.log(JSON.stringify(delays))
      server.close()
      server.closeAllConnections()`
    expect(run(name, check)).toEqual([0, 0, 0, 0, 0, 20, 40, 60, 60, 60])
  })

  it('decides without a promise', () => {
    const check = "console.log(JSON.stringify(Array.from({ length: 3 }, () => admit('k'))))"
    expect(run('flexible-after', check)).toEqual(['served', 'served', 'retry in 60 s'])
  })
})

/** Sends requests to `app` one after the other; an answer is its status and what `shown` makes of it. */
const sendAll = (requests: readonly object[], shown: string) => `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port
      const seen = []
      for (const { path = '/', ...init } of ${JSON.stringify(requests)}) {
        const response = await fetch(url + path, init)
        seen.push([response.status, await (${shown})(response)])
      }
      server.close()
      server.closeAllConnections()`

describe('the examples of docs/keys.md', { timeout }, () => {
  const names = "(response) => response.headers.get('ratelimit-limit')"

  it('limits by address and by server', () => {
    const check = `${sendAll(Array(8).fill({}), '() => undefined')}
      console.log(JSON.stringify({ seen, left: zones.limiter.peek('localhost').remaining, names: zones.limiter.policies.map((policy) => policy.name) }))`
    const { seen, names } = run('two-zones', check) as { seen: number[][]; names: string[] }
    expect(seen.filter(([status]) => status === 200).length).toBeLessThanOrEqual(6)
    expect(seen.at(-1)![0]).toBe(429)
    expect(names).toEqual(['perip', 'perserver'])
  })

  it('counts requests, points and what is in flight', () => {
    const write = { path: '/repos', method: 'POST', headers: { authorization: 'token ada' } }
    const read = { ...write, method: 'GET' }
    const check = `${sendAll([write, read], "(response) => response.headers.get('x-ratelimit-remaining')")}
      const { tiers } = api.limiter.peek({ header: 'token ada' })
      console.log(JSON.stringify({ seen: seen.map(([status]) => status), left: tiers.map(({ remaining }) => remaining) }))`
    expect(run('github', check)).toEqual({ seen: [200, 200], left: [4998, 894, 100] })
  })

  it('watches a limit beside those that hold', () => {
    const check = `${sendAll(Array(4).fill({}), names)}
      console.log(JSON.stringify({ seen, wouldHaveHurt }))`
    const { seen, wouldHaveHurt } = run('shadow-limit', check) as Record<string, unknown[]>
    expect(seen).toEqual(Array(4).fill([200, '100']))
    expect(wouldHaveHurt).toHaveLength(2)
  })
})

describe('the examples of docs/plans.md', { timeout }, () => {
  it('limits by plan', () => {
    const of = (key: string) => ({ headers: { 'x-api-key': key } })
    const requests = [
      ...Array(4).fill(of('of nobody')),
      of('key-of-ada'),
      of('key-of-grace'),
      of('constructor')
    ]
    const check = `${sendAll(requests, "(response) => response.headers.get('ratelimit-limit')")}
      process.emit('SIGTERM')
      console.log(JSON.stringify(seen))`
    const file = join(tmpdir(), `headgate-plans-${process.pid}.bin`)
    const seen = run('plans', check, { QUOTAS: file })
    rmSync(file)
    expect(seen).toEqual([...Array(3).fill([200, '3']), [429, '3'], [200, '100'], [200, null], [200, '3']])
  })

  it('computes a burst', () => {
    const partner = { headers: { 'x-partner': '1' } }
    const check = `${sendAll([{}, {}, {}, partner, partner, partner, partner], '() => undefined')}
      console.log(JSON.stringify(seen.map(([status]) => status)))`
    expect(run('computed-burst', check)).toEqual([200, 200, 429, 200, 200, 200, 429])
  })
})

describe('the examples of docs/shedding.md', { timeout }, () => {
  it('shed on Express', () => {
    const check = `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port
      const seen = []
      for (const [method, path] of [['GET', '/healthz'], ['POST', '/pay'], ['GET', '/feed'], ['GET', '/status']]) {
        const response = await fetch(url + path, { method })
        seen.push([response.status, await response.text()])
      }
      console.log(JSON.stringify({ seen, isShedding: shedder.state.isShedding }))
      server.close()
      server.closeAllConnections()`
    expect(run('shed-express', check)).toEqual({
      seen: [
        [200, 'alive'],
        [200, 'paid'],
        [200, 'news'],
        [200, '{"status":"ok"}']
      ],
      isShedding: false
    })
  })

  it('shed on Fastify', () => {
    const check = `
      const seen = []
      for (const [method, url] of [['GET', '/healthz'], ['POST', '/pay'], ['GET', '/feed'], ['GET', '/status']]) {
        const response = await app.inject({ method, url })
        seen.push([response.statusCode, response.body])
      }
      const { inFlight, shares } = (await app.inject('/pressure')).json()
      console.log(JSON.stringify({ seen, inFlight, shares }))`
    expect(run('shed-fastify', check)).toEqual({
      seen: [
        [200, 'alive'],
        [200, 'paid'],
        [200, 'news'],
        [200, '{"status":"ok"}']
      ],
      inFlight: 1,
      shares: { critical: 0, normal: 0, background: 0 }
    })
  })

  it.each(['express', 'fastify'])('shed on NestJS over %s', (platform) => {
    const requests = ["get('/healthz')", "post('/pay')", "get('/pressure')"]
    const seen = runNest('shed-nest', platform, requests) as [number][]
    expect(seen.map(([status]) => status)).toEqual([200, 201, 200])
  })
})

describe('the examples of docs/rules.md', { timeout }, () => {
  it('limits by the rules of a file', () => {
    const check = `
      const server = app.listen(0)
      const seen = []
      const send = async (path, init = {}) =>
        seen.push((await fetch('http://localhost:' + server.address().port + path, init)).status)
      for (let i = 0; i < 6; i++) await send('/login', { method: 'POST' })
      for (let i = 0; i < 12; i++) await send('/health')
      for (let i = 0; i < 3; i++) await send('/api/reports/7/export')
      console.log(JSON.stringify(seen))
      server.close()
      server.closeAllConnections()`
    expect(run('rules', check)).toEqual([200, 200, 200, 200, 200, 429, ...Array(15).fill(200)])
  })

  it('has rules that are right, and the file of the examples among them', () => {
    const blocks = markedAs('rules').filter(({ mark }) => mark !== 'rules: sentences')
    expect(blocks.map(({ text }) => parseRules(text).table.rules.length)).toEqual([6, 2, 3])
    expect(blocks[0]!.text).toBe(readFileSync(new URL('../examples/limits.yaml', import.meta.url), 'utf8'))
  })

  it('shows what the command says of it', () => {
    const said: string[] = []
    const collect = (line: string) => void said.push(line)
    expect(check(['check', 'examples/limits.yaml'], { say: collect, fail: collect })).toBe(0)
    expect(block('rules: sentences')).toBe(`${said.join('\n')}\n`)
  })
})

describe('every example', () => {
  const files = [
    'docs-examples.test.ts',
    'readme.test.ts',
    'redis/readme.test.ts',
    'packaging/testing-page.test.ts'
  ]
  const tests = files.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('\n')

  it.each(markedAs('example').map(({ path, mark }) => [mark.slice('example: '.length), path]))(
    'is run: %s of %s',
    (name) => {
      expect(tests).toMatch(new RegExp(`'(?:example: )?${name}'`))
    }
  )

  it.each([...pages])('of code has a mark: %s', (path, page) => {
    const code = page.match(/^```(js|ts)$/gm) ?? []
    expect(markedAs('example').filter((one) => one.path === path)).toHaveLength(code.length)
  })
})
