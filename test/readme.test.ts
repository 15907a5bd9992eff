import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../src/core/errors.js'
import { policyOptionNames } from '../src/core/policy-options.js'
import { headerStyleNames } from '../src/http/headers/index.js'
import { gateSettingNames } from '../src/http/options.js'
import { createLimiter } from '../src/index.js'
import { nestSettingNames } from '../src/nest/options.js'
import { block, readme, run, runDecorated, runFile, runTypeScript } from './support/readme.js'

const root = new URL('..', import.meta.url)

describe('README examples', () => {
  it('limits on Express', () => {
    const check = `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port
      const seen = [await fetch(url + '/login', { method: 'POST' }), await fetch(url + '/')]
      console.log(JSON.stringify(seen.map((r) => [r.status, r.headers.get('ratelimit-policy')])))
      server.close()
      server.closeAllConnections()`
    expect(run('express', check)).toEqual([
      [200, '100;w=60, 5;w=900'],
      [404, '100;w=60']
    ])
  })

  it('limits on Fastify', () => {
    const check = `
      const seen = []
      for (const url of ['/export', '/export', '/export', '/export', '/export', '/export', '/health'])
        seen.push(await app.inject(url))
      console.log(JSON.stringify(seen.map((r) => [r.statusCode, r.headers['ratelimit-remaining'] ?? null])))`
    expect(run('fastify', check)).toEqual([
      ...[4, 3, 2, 1, 0].map((left) => [200, String(left)]),
      [429, '0'],
      [200, null]
    ])
  })

  it.each(['express', 'fastify'])('limits in NestJS over %s', (platform) => {
    const check = nestCheck(platform, [
      "get('/reports')",
      "post('/reports')",
      "post('/reports')",
      "post('/reports')",
      "post('/reports')",
      "get('/reports/health')",
      "get('/nope')"
    ])
    expect(runTypeScript('nest', check)).toEqual([
      [200, '10'],
      ...[201, 201, 201, 429].map((status) => [status, '3']),
      [200, null],
      [404, '1000']
    ])
  })

  it('limits by a policy and a service in NestJS', () => {
    const ada = "{ 'x-account': 'ada' }"
    const check = nestCheck('express', [
      ...Array.from({ length: 6 }, () => `post('/login', ${ada})`),
      "get('/tries/ada')",
      "post('/unlock/ada')",
      `post('/login', ${ada})`
    ])
    const expected = [201, 201, 201, 201, 201, 429].map((status) => [status, '5'])
    expect(runTypeScript('nest-service', check)).toEqual([
      ...expected,
      [200, '100'],
      [201, '100'],
      [201, '5']
    ])
  })

  it('holds one limit in four threads', () => {
    expect(runFile('shared').sort()).toEqual(['96', '97', '98', '99'])
  })

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
    const expected = [200, 200, 429, 200, 200, 200, 429, 200, 200, 200]
    expect(runDecorated('classes', check)).toEqual(expected)
  })

  it('does after a migration from @nestjs/throttler what was done before', () => {
    const check = nestCheck('express', [
      ...Array.from({ length: 4 }, () => "get('/')"),
      ...['a', 'a', 'a', 'b'].map((key) => `get('/search', { 'x-api-key': '${key}' })`),
      ...Array.from({ length: 4 }, () => "get('/health')"),
      "get('/')"
    ])
    const statuses = (name: string) => (runTypeScript(name, check) as [number][]).map(([status]) => status)
    const expected = [200, 200, 200, 429, 200, 200, 429, 200, 200, 200, 200, 200, 429]
    expect(statuses('throttler-before')).toEqual(expected)
    expect(statuses('throttler-after')).toEqual(expected)
  })

  it('serves the recipes', () => {
    const check = `
      const server = app.listen(0)
      const send = async (path, body, headers = {}) => {
        const url = 'http://localhost:' + server.address().port + path
        const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
        const response = await fetch(url, init)
        return [response.status, response.headers.get('ratelimit-remaining'), await response.text()]
      }
      const wrong = { account: 'ada', password: 'guess' }
      const right = { account: 'ada', password: 'secret' }
      const seen = []
      for (const body of [right, right, right, wrong, wrong, right]) seen.push(await send('/login', body))
      seen.push(await send('/unlock', { account: 'ada' }), await send('/login', right))
      const batch = await send('/batch', [1, 2, 3])
      const plans = [await send('/api', {}, { 'x-plan': 'free', 'x-api-key': 'k' }), await send('/api', {})]
      console.log(JSON.stringify({ seen, batch: batch[1], plans: plans.map(([, left]) => left) }))
      server.close()
      server.closeAllConnections()`
    const { seen, batch, plans } = run('recipes', check) as {
      seen: [number, string, string][]
      batch: string
      plans: string[]
    }
    expect(seen.map(([status]) => status)).toEqual([200, 200, 200, 401, 401, 429, 200, 200])
    expect(JSON.parse(seen[5]![2])).toEqual({ error: 'locked', seconds: expect.any(Number) })
    expect([batch, plans]).toEqual(['97', ['9', '4']])
  })

  it('decides tiers together', () => {
    const { decision, headers } = run('tiers', 'console.log(JSON.stringify({ decision, headers }))') as {
      decision: object
      headers: object
    }
    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetMs: 100 })
    expect(headers).toMatchObject({ 'RateLimit-Policy': '10;w=1, 1000;w=3600', 'RateLimit-Remaining': '9' })
  })

  it('shares a policy between routes, and refunds what does not count', () => {
    const check = `
      const first = await app.inject({ method: 'POST', url: '/login' })
      const second = await app.inject({ method: 'POST', url: '/token' })
      console.log(JSON.stringify([first, second].map((r) => r.headers['ratelimit-limit'])))`
    expect(run('policies', check)).toEqual(['5', '5'])
  })

  it('admits by a strategy of one’s own', () => {
    const check = `
      const allowed = Array.from({ length: 12 }, () => limiter.consume('k').allowed)
      const { remaining, retryAfterMs } = limiter.consume('k', 4)
      console.log(JSON.stringify({ allowed: allowed.filter(Boolean).length, remaining, slow: retryAfterMs > 7000 }))`
    expect(run('two-speed', check)).toEqual({ allowed: 10, remaining: 0, slow: true })
  })
})

describe('README facts', () => {
  it('shows how each strategy admits the bursts', () => {
    const lines = ['', '8 s', '11 s', '16 s', '22 s'].map((cell, i) => cell.padEnd(i === 0 ? 16 : 10))
    const rows = [
      'fixed-window',
      'sliding-window',
      'sliding-log',
      'token-bucket',
      'gcra',
      'leaky-bucket'
    ].map(burstRow)
    expect(block('picture: bursts')).toBe(
      `${[lines.join(''), ...rows].map((row) => row.trimEnd()).join('\n')}\n`
    )
  })

  it('lists every error code with its meaning', () => {
    for (const [code, meaning] of Object.entries(errorCodes))
      expect(readme).toContain(`| \`${code}\` | ${meaning} |`)
  })

  it('lists every option and every header style', () => {
    const options = readme.split('## Options')[1]!.split('## Keys')[0]!
    for (const name of [...policyOptionNames, 'limits', ...gateSettingNames])
      expect(options).toContain(`\`${name}\``)
    for (const style of headerStyleNames) expect(readme).toContain(`'${style}'`)
  })

  it('lists every option of NestJS', () => {
    const section = readme.split('## NestJS')[1]!.split('## Plain classes')[0]!
    for (const name of [...nestSettingNames, 'policies', 'global'])
      expect(section).toContain(`| \`${name}\` |`)
  })

  it('names files that exist', () => {
    for (const [, path] of readme.matchAll(/\]\(((?:src|examples|bench)\/[^)]+)\)/g))
      expect(existsSync(new URL(path!, root)), path).toBe(true)
  })
})

/** Starts the `AppModule` of an example, and prints the status and the limit of each answer. */
function nestCheck(platform: string, requests: readonly string[]): string {
  return `
    const { NestFactory } = await import('@nestjs/core')
    const { FastifyAdapter } = await import('@nestjs/platform-fastify')
    const { ExpressAdapter } = await import('@nestjs/platform-express')
    const adapter = ${platform === 'fastify' ? 'new FastifyAdapter()' : 'new ExpressAdapter()'}
    const app = await NestFactory.create(AppModule, adapter, { logger: false })
    await app.listen(0, '127.0.0.1')
    const url = await app.getUrl()
    const send = (method) => async (path, headers = {}) => {
      const response = await fetch(url + path, { method, headers })
      return [response.status, response.headers.get('ratelimit-limit')]
    }
    const get = send('GET')
    const post = send('POST')
    const seen = []
    ${requests.map((request) => `seen.push(await ${request})`).join('\n')}
    console.log(JSON.stringify(seen))
    await app.close()`
}

/** One line of the picture: 4 per 10 s, asked for 6 at once at four moments. */
function burstRow(strategy: string): string {
  let now = 0
  const places = strategy === 'leaky-bucket' ? { burst: 3 } : {}
  const limiter = createLimiter({ limit: 4, window: '10s', strategy, now: () => now, ...places })
  const cells = [8, 11, 16, 22].map((seconds) => {
    now = seconds * 1000
    const marks = Array.from({ length: 6 }, () => {
      const { allowed, delayMs = 0 } = limiter.consume('key')
      return allowed ? (delayMs > 0 ? '~' : '#') : '.'
    })
    return marks.join('').padEnd(10)
  })
  return strategy.padEnd(16) + cells.join('')
}
