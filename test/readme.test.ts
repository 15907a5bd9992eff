import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { rateLimit } from '../src/express/index.js'
import { block, readme, run, runNest } from './support/readme.js'

/** Most examples start a server, in a process of their own. */
const timeout = 60_000

describe('the examples of the README', { timeout }, () => {
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

  it('sheds, and limits what is in flight', () => {
    const check = `
      const held = []
      app.get('/report', (_request, reply) => void held.push(reply))
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      const asked = Array.from({ length: 14 }, () => fetch(url + '/report').then(({ status }) => status))
      const full = await Promise.race(asked)
      for (let served = 0; served < 13; served += held.splice(0).map((reply) => reply.send('ok')).length)
        await new Promise((resolve) => setImmediate(resolve))
      const statuses = await Promise.all(asked)
      const paid = await fetch(url + '/pay', { method: 'POST' })
      console.log(JSON.stringify([full, statuses.filter((one) => one === 200).length, paid.status]))
      app.server.closeAllConnections()
      await app.close()`
    expect(run('overload', check)).toEqual([429, 13, 200])
  })

  it.each(['express', 'fastify'])('limits in NestJS over %s', (platform) => {
    const requests = [
      "get('/reports')",
      "post('/reports')",
      "post('/reports')",
      "post('/reports')",
      "post('/reports')",
      "get('/reports/health')",
      "get('/nope')"
    ]
    expect(runNest('nest', platform, requests)).toEqual([
      [200, '10'],
      ...[201, 201, 201, 429].map((status) => [status, '3']),
      [200, null],
      [404, '1000']
    ])
  })

  it('decides tiers together', () => {
    const { decision, headers } = run('tiers', 'console.log(JSON.stringify({ decision, headers }))') as {
      decision: object
      headers: object
    }
    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetMs: 100 })
    expect(headers).toMatchObject({ 'RateLimit-Policy': '10;w=1, 1000;w=3600', 'RateLimit-Remaining': '9' })
  })

  it('shows a denial as it is sent', async () => {
    const app = express().disable('x-powered-by')
    app.use(rateLimit({ limit: 5, window: '1m', now: () => 48_000 }))
    app.use((_request, response) => void response.end())
    const server = app.listen(0)
    try {
      const answers: string[] = []
      for (let i = 0; i < 6; i++) answers.push(await answerOf((server.address() as AddressInfo).port))
      expect(answers.at(-1)).toBe(block('response: denied'))
    } finally {
      server.close()
    }
  })
})

describe('the README', () => {
  it('is short', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(200)
  })

  it('says how to start and how to test', () => {
    expect(readme).toContain('`npm install && npm start`')
    expect(readme).toContain('`npm install && npm test`')
  })

  it('names all example servers', () => {
    const examples = readdirSync(new URL('../examples/', import.meta.url), { withFileTypes: true })
    for (const { name } of examples) expect(readme).toContain(`examples/${name}`)
  })
})

/** A response as it is written, without what Node adds to each. */
async function answerOf(port: number): Promise<string> {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    request({ port, agent: false }, resolve).once('error', reject).end()
  })
  const added = ['Date', 'Connection', 'Keep-Alive', 'Content-Length', 'Transfer-Encoding']
  const fields: string[] = []
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    const [name, value] = response.rawHeaders.slice(i, i + 2)
    if (!added.includes(name!)) fields.push(`${name}: ${value}`)
  }
  const status = `HTTP/${response.httpVersion} ${response.statusCode} ${response.statusMessage}`
  return `${[status, ...fields, '', (await text(response)).trim()].join('\n')}\n`
}
