import { describe, expect, it } from 'vitest'
import { parseRules } from '../../../../src/rules/index.js'
import { type Framework, type Options, servers } from '../harness.js'

const hourly = (text: string, options: object = {}) => ({ rules: parseRules(text), ...options }) as Options

/** What the rules of a file come to, whoever answers. */
export function rules(framework: Framework): void {
  const run = servers(framework)
  const times = (count: number, path: string, headers = {}) =>
    Array.from({ length: count }, () => ({ path, headers }))

  describe('of a file', () => {
    it('limit by the first that holds', async () => {
      const app = await run({
        global: hourly(`
- { match: { path: /a, header: { x-plan: pro } }, limit: 3, window: 1h }
- { match: { path: '/:any' }, limit: 1, window: 1h, key: [ip, path] }
`),
        routes: [{ path: '/a' }, { path: '/b' }, { path: '/' }]
      })
      expect(await app.statuses(times(4, '/a?x=1', { 'x-plan': 'pro' }))).toEqual([200, 200, 200, 429])
      expect(await app.statuses(times(2, '/a'))).toEqual([200, 429])
      expect(await app.statuses(times(2, '/b?y=2'))).toEqual([200, 429])
      expect(await app.statuses(times(3, '/'))).toEqual([200, 200, 200])
      expect((await app.get('/a')).headers['retry-after']).toMatch(/^\d+$/)
    })

    it('limit by all that hold, and by what is within them', async () => {
      const app = await run({
        global: hourly(`
match: all
rules:
  - { match: { header: { x-a: true } }, limit: 2, window: 1h }
  - match: { method: [GET, POST] }
    rules: [{ match: { header: { x-b: 'yes' } }, limit: 1, window: 1h }]
    limit: 3
    window: 1h
`)
      })
      expect(await app.statuses(times(2, '/', { 'x-b': 'yes' }))).toEqual([200, 429])
      expect(await app.statuses(times(3, '/', { 'x-a': '1' }))).toEqual([200, 200, 429])
      expect((await app.get('/')).status).toBe(429)
    })

    it('charge nothing for what one of them denies, and have limits of several keys', async () => {
      const app = await run({
        global: hourly(
          `
match: all
rules:
  - { name: all, limit: 5, window: 1h, key: path }
  - limits:
      - { name: each, limit: 2, window: 1h, key: 'header:x-user' }
      - { name: points, limit: 9, window: 1h, key: path, cost: 3 }
`,
          { headers: 'draft-11' }
        )
      })
      const as = (user: string) => ({ path: '/', headers: { 'x-user': user } })
      expect(await app.statuses([as('a'), as('a'), as('a'), as('a'), as('b'), as('b')])).toEqual([
        200, 200, 429, 429, 200, 429
      ])
      const denied = await app.send(as('c'))
      expect(denied.headers.ratelimit).toMatch(/^"all";r=2;t=\d+, "each";r=2;t=0, "points";r=0;t=\d+$/)
    })

    it('know users and addresses', async () => {
      const app = await run({
        trustProxy: framework.name === 'koa' ? true : ['127.0.0.1'],
        global: hourly(
          `
- { match: { address: 203.0.113.0/24 }, limit: 1, window: 1h }
- { match: { user: [ada, 7] }, limit: 2, window: 1h, key: user }
- { match: { user: true }, limit: false }
- { match: { user: false }, limit: 0 }
`
        ),
        before: [
          ({ request }) => {
            const user = request.headers['x-user']
            if (user !== undefined) request.user = { id: user }
          }
        ]
      })
      const from = { 'x-forwarded-for': '203.0.113.7' }
      expect(await app.statuses(times(2, '/', from))).toEqual([200, 429])
      expect(await app.statuses(times(3, '/', { 'x-user': 'ada' }))).toEqual([200, 200, 429])
      expect(await app.statuses(times(3, '/', { 'x-user': 'bob' }))).toEqual([200, 200, 200])
      expect(await app.statuses(times(1, '/'))).toEqual([429])
    })

    it('leave to the options what holds for all requests', async () => {
      const app = await run({
        global: hourly('- { match: { path: /a }, limit: 1, window: 1h, message: Later. }', {
          skip: (request: { headers: object }) => 'x-skip' in request.headers,
          deny: ['192.0.2.0/24'],
          statusCode: 503
        }),
        routes: [{ path: '/a' }, { path: '/b' }]
      })
      expect((await app.send({ path: '/b', headers: { 'x-test-peer': '192.0.2.1' } })).status).toBe(403)
      expect(await app.statuses(times(2, '/b'))).toEqual([200, 200])
      expect(await app.statuses(times(2, '/a', { 'x-skip': '1' }))).toEqual([200, 200])
      expect(await app.statuses(times(2, '/a'))).toEqual([200, 503])
      expect((await app.get('/a')).body).toContain('Later.')
    })

    it('give back what does not count', async () => {
      const app = await run({
        global: hourly('- { limit: 1, window: 1h, countOnly: failures }'),
        routes: [{ path: '/' }, { path: '/fails', handler: ({ send }) => send(401) }]
      })
      const statuses = await app.statuses([...times(2, '/'), ...times(2, '/fails')])
      expect(statuses).toEqual([200, 200, 401, 429])
    })
  })
}
