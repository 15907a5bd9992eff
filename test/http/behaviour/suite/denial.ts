import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Answer, type Ask, header, quotaFields } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import {
  type Exchange,
  type Framework,
  gate,
  manualClock,
  type Options,
  peerField,
  servers,
  start,
  within
} from '../harness.js'

const minute = { window: '1m', now: () => start } as const
const one: Options = { limit: 1, ...minute }

/** How denied requests are answered. */
export function denial(framework: Framework): void {
  const run = servers(framework)
  const denied = async (options: Options, headers: Record<string, string> = {}): Promise<Answer> => {
    const app = await run({ global: options })
    await app.get('/', headers)
    return app.get('/', headers)
  }

  const usual = framework.denialType

  describeBeyondHost(framework, 'the body', () => {
    it.each([
      [undefined, usual],
      ['*/*', usual],
      ['*/*;q=0.1', usual],
      ['text/html,application/xhtml+xml,*/*;q=0.8', usual],
      ['image/png', usual],
      ['text/plain', 'text/plain'],
      ['text/*', 'text/plain'],
      ['text/plain, */*', 'text/plain'],
      ['text/plain, application/json', 'text/plain'],
      ['application/json', 'application/json'],
      ['application/json, text/plain;q=0.5', 'application/json'],
      ['text/plain;q=0.5, application/json;q=0.4', 'text/plain'],
      ['application/*', 'application/json'],
      ['application/problem+json', 'application/problem+json'],
      ['application/problem+json, application/json', 'application/problem+json'],
      ['application/json;q=0.9, application/problem+json;q=0.8', 'application/json'],
      ['APPLICATION/JSON', 'application/json'],
      ['application/json;q=0, */*', 'text/plain'],
      [';;;,,,q=', usual],
      ['application/json;q=abc', usual]
    ])('for Accept %j it is %s', async (accept, type) => {
      const answer = await denied(one, accept === undefined ? {} : { Accept: accept })
      expect(answer.status).toBe(429)
      expect(header(answer, 'Content-Type')?.split(';')[0]).toBe(type)
      expect(Number(header(answer, 'Content-Length'))).toBe(Buffer.byteLength(answer.body))
      expect(answer.body).not.toBe('')
      if (type !== 'text/plain') expect(JSON.parse(answer.body)).toBeTypeOf('object')
    })

    it('§5: problem details have the registered type and title, the real status and the violated policies only', async () => {
      const app = await run({
        global: {
          limits: [
            { name: 'burst', limit: 1, window: '1s' },
            { name: 'daily', limit: 99, window: '1d' }
          ],
          now: () => start
        }
      })
      await app.get()
      const answer = await app.get('/', { Accept: 'application/problem+json' })
      expect(header(answer, 'Content-Type')).toBe('application/problem+json')
      expect(JSON.parse(answer.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Quota Exceeded',
        status: 429,
        'violated-policies': ['burst']
      })
    })

    it('§5: where the draft recommends a status other than 429 is told as it is sent', async () => {
      const answer = await denied({ ...one, statusCode: 503 }, { Accept: 'application/problem+json' })
      expect(answer.status).toBe(503)
      expect(JSON.parse(answer.body)).toMatchObject({ status: 503 })
      expect(header(answer, 'Retry-After')).toBe('60')
      expect(header(answer, 'Cache-Control')).toBe('no-store')
    })

    it('a ban is told as abnormal usage', async () => {
      const answer = await denied({ ...one, block: '10m' }, { Accept: 'application/problem+json' })
      expect(answer.status).toBe(429)
      expect(header(answer, 'Retry-After')).toBe('600')
      expect(JSON.parse(answer.body)).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
        status: 429
      })
    })

    it('says nothing that cannot be: no undefined, NaN, null or Infinity', async () => {
      for (const options of [
        one,
        { ...one, limit: () => 0 },
        { ...one, block: '10m' },
        { ...one, cost: () => 5 }
      ])
        for (const accept of ['text/plain', 'application/json', 'application/problem+json']) {
          const answer = await denied(options as Options, { Accept: accept })
          expect(answer.status).toBe(429)
          expect(answer.body + answer.rawHeaders.join('\n')).not.toMatch(
            /undefined|NaN|null|Infinity|\[object/
          )
        }
    })

    it('`message` replaces the sentence, as a text or a function of the request', async () => {
      const plain = await denied({ ...one, message: 'Not so fast — “please”' }, { Accept: 'text/plain' })
      expect(plain.body).toBe('Not so fast — “please”')
      const json = await denied({ ...one, message: 'slow "down"' }, { Accept: 'application/json' })
      expect(JSON.parse(json.body)).toMatchObject({ message: 'slow "down"', statusCode: 429, retryAfter: 60 })
      const problem = await denied({ ...one, message: 'slow' }, { Accept: 'application/problem+json' })
      expect(JSON.parse(problem.body)).toMatchObject({ detail: 'slow', title: 'Quota Exceeded' })
      const message: Options['message'] = (request, rateLimit) =>
        `${request.method} ${rateLimit.retryAfterMs} ${rateLimit.policy.name}`
      const computed = await denied({ ...one, message }, { Accept: 'text/plain' })
      expect(computed.body).toBe('GET 60000 default')
    })

    it('is sent with the length of its bytes, not of its characters', async () => {
      const answer = await denied({ ...one, message: '🚦é' }, { Accept: 'text/plain' })
      expect(header(answer, 'Content-Length')).toBe(String(Buffer.byteLength('🚦é')))
    })

    it('a POST with a large body is denied, and the connection goes on', async () => {
      const app = await run({
        global: one,
        routes: [
          { path: '/', method: 'POST' },
          { path: '/', limit: false }
        ]
      })
      const body = 'x'.repeat(300_000)
      const post: Ask = { method: 'POST', body, headers: { 'Content-Type': 'text/plain' } }
      const answers = [await app.send(post), await app.send(post), await app.send(post), await app.get()]
      expect(answers.map(({ status }) => status)).toEqual([200, 429, 429, 200])
    })
  })

  describe('onLimited', () => {
    it('answers instead, with status, fields and the decision at hand', async () => {
      const seen: unknown[] = []
      const answer = await denied({
        ...one,
        headers: 'draft-11',
        onLimited: (request, response, rateLimit) => {
          seen.push(request.url, rateLimit.allowed, rateLimit.retryAfterMs, rateLimit.key)
          framework.reply(response, 418, 'teapot')
        }
      })
      expect([answer.status, answer.body]).toEqual([418, 'teapot'])
      expect(seen).toEqual(['/', false, 60_000, '127.0.0.1'])
      expect(header(answer, 'Retry-After')).toBe('60')
      expect(header(answer, 'RateLimit')).toBe('"default";r=0;t=60')
      expect(header(answer, 'Cache-Control')).toBe('no-store')
    })

    it('may be async', async () => {
      const ready = gate()
      const app = await run({
        global: {
          ...one,
          onLimited: async (_request, response) => {
            await ready.promise
            framework.reply(response, 429, 'later')
          }
        }
      })
      await app.get()
      const answer = app.get()
      expect(await within(answer, 10)).toBe('pending')
      ready.open()
      expect(await answer).toMatchObject({ status: 429, body: 'later' })
    })

    it('may answer through an object with a bare `then`, as query builders are', async () => {
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      const thenable = { then: (resolve: (value: unknown) => void) => resolve({ error: 'slow down' }) }
      const answer = await denied({ ...one, onLimited: () => thenable })
      expect([answer.status, JSON.parse(answer.body)]).toEqual([429, { error: 'slow down' }])
    })

    it.each([false, true])(
      'that returns the response without sending it has the default body sent (%j)',
      async (wait) => {
        const onLimited = (_request: unknown, response: unknown) =>
          wait ? Promise.resolve(response) : response
        const answer = await denied({ ...one, onLimited })
        expect([answer.status, answer.body.length > 0]).toEqual([429, true])
      }
    )

    it.each(['ip', 'user'] as const)('may redirect, by the status of redirects (key %s)', async (key) => {
      for (const wait of [false, true]) {
        const onLimited = (_request: unknown, response: unknown) => {
          if (!wait) return framework.redirect(response, '/slow')
          return Promise.resolve().then(() => framework.redirect(response, '/slow'))
        }
        const answer = await denied({ ...one, key, onLimited })
        expect([answer.status, header(answer, 'Location')]).toEqual([302, '/slow'])
      }
    })

    it.each(['an error', 'a promise of one', 'a frozen one'])(
      'that returns %s has it handled as errors are, with the status of the denial',
      async (kind) => {
        const error = new Error('locked for a while')
        if (kind === 'a frozen one') Object.freeze(error)
        const onLimited = () => (kind === 'a promise of one' ? Promise.resolve(error) : error)
        const app = await run({ global: { ...one, statusCode: 423, onLimited } })
        await app.get()
        const answer = await app.get()
        expect(answer.status).toBe(423)
        expect(answer.body).toContain('locked for a while')
        // Koa clears all fields before it answers an error.
        if (framework.name !== 'koa') expect(header(answer, 'Retry-After')).toBe('60')
        if (usual === 'application/json')
          expect(JSON.parse(answer.body)).toMatchObject({ statusCode: 423, message: 'locked for a while' })
      }
    )

    it('that returns an error with a status of its own keeps it', async () => {
      const error = Object.assign(new Error('for legal reasons'), { status: 451, expose: true })
      const answer = await denied({ ...one, onLimited: () => error })
      expect(answer.status).toBe(451)
      expect(answer.body).toContain('for legal reasons')
    })

    it('is not called for what is admitted', async () => {
      let calls = 0
      const app = await run({
        global: {
          ...one,
          onLimited: (_request, response) => {
            calls++
            framework.reply(response, 429, '')
          }
        }
      })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 429, 429])
      expect(calls).toBe(2)
    })

    it('handlers are not reached by what is denied', async () => {
      let reached = 0
      const app = await run({
        global: one,
        routes: [{ path: '/', handler: () => void reached++ }]
      })
      await app.statuses([{}, {}, {}])
      expect(reached).toBe(1)
    })
  })

  describe('caches (§8)', () => {
    it('a denied response is not stored, whatever was said before; an admitted one keeps it', async () => {
      const app = await run({
        before: [
          ({ setHeader }) => {
            setHeader('Cache-Control', 'public, max-age=600')
            setHeader('Expires', new Date(start + 1e6).toUTCString())
          }
        ],
        global: one
      })
      const admitted = await app.get()
      expect(header(admitted, 'Cache-Control')).toBe('public, max-age=600')
      expect(header(admitted, 'Expires')).toBeDefined()
      const answer = await app.get()
      expect(header(answer, 'Cache-Control')).toBe('no-store')
      expect(header(answer, 'Expires')).toBeUndefined()
    })

    /** What middleware may say of an answer that is not sent. */
    const other: Record<string, string> = {
      ...{ 'CDN-Cache-Control': 'max-age=600', 'Cloudflare-CDN-Cache-Control': 'max-age=600' },
      ...{ 'Netlify-CDN-Cache-Control': 'public', 'Vercel-CDN-Cache-Control': 'public' },
      ...{ 'Surrogate-Control': 'max-age=600', 'Surrogate-Key': 'a b', 'Edge-Control': 'max-age=60' },
      ...{ 'Cache-Tag': 'a', 'Edge-Cache-Tag': 'a', 'Cache-Groups': '"a"', 'Cache-Status': 'x; hit' },
      ...{ 'X-Accel-Expires': '600', 'X-Accel-Redirect': '/file', 'X-Sendfile': '/file' },
      ...{ Expires: new Date(start + 1e6).toUTCString(), Age: '9', Pragma: 'public' },
      ...{ ETag: '"x"', 'Last-Modified': new Date(start).toUTCString(), 'No-Vary-Search': 'params' },
      ...{ 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip', 'Content-Language': 'de' },
      ...{ 'Content-Disposition': 'attachment', 'Content-Location': '/x', 'Content-Range': 'bytes 0-1/2' },
      ...{ 'Content-MD5': 'eA==', 'Content-Digest': 'sha-256=:eA==:', 'Repr-Digest': 'sha-256=:eA==:' },
      ...{ Digest: 'sha-256=eA==', 'Accept-Ranges': 'bytes', Trailer: 'Server-Timing' }
    }
    const kept = {
      ...{ Vary: 'Accept-Language', 'Content-Security-Policy': "default-src 'self'" },
      ...{ 'Set-Cookie': 'session=1', 'X-Request-Id': '7', Link: '</style.css>; rel=preload' }
    }
    const setAll =
      (fields: object, isOnNode = false) =>
      ({ request, response, setHeader }: Exchange) => {
        if (request.url === '/first') return
        const { raw } = response as { raw?: ServerResponse }
        for (const [name, value] of Object.entries(fields))
          if (isOnNode && raw !== undefined) raw.setHeader(name, value)
          else setHeader(name, value)
      }
    const ways: [string, Partial<Options>][] = [
      ['the built-in answer', {}],
      ['a message', { message: async () => 'slow' }],
      ['a value of `onLimited`', { onLimited: () => ({ slow: true }) }],
      ['an answer of `onLimited`', { onLimited: (_, response) => framework.reply(response, 429, 'slow') }],
      ['a 403', { deny: ['127.0.0.1'], skip: ({ url }) => url === '/first' }]
    ]
    const shownWays = framework.isHostOnly === true ? ways.slice(0, 1) : ways

    it.each(shownWays)('a denial has nothing of another answer, by %s', async (_name, more) => {
      for (const isOnNode of [false, true]) {
        const app = await run({
          before: [setAll(other, isOnNode), setAll(kept)],
          global: { ...one, ...more } as Options
        })
        await app.get('/first')
        const answer = await app.get()
        expect([429, 403]).toContain(answer.status)
        expect(header(answer, 'Cache-Control')).toBe('no-store')
        const found = Object.entries(other).filter(([name, value]) => header(answer, name) === value)
        expect(found).toEqual([])
        for (const [name, value] of Object.entries(kept)) expect(header(answer, name)).toBe(value)
        expect(answer.body).not.toBe('')
      }
    })

    it('an admitted response keeps all of it', async () => {
      const { Trailer, 'Content-Encoding': _, 'Content-Range': __, ...rest } = other
      const app = await run({ before: [setAll(rest), setAll(kept)], global: one })
      const answer = await app.get()
      for (const [name, value] of Object.entries({ ...rest, ...kept }))
        expect([name, header(answer, name)]).toEqual([name, expect.stringContaining(value)])
    })

    it('nor is a 403 of the deny list', async () => {
      const app = await run({
        before: [({ setHeader }) => setHeader('Cache-Control', 'max-age=600')],
        global: { ...one, deny: ['127.0.0.1'] }
      })
      const answer = await app.get()
      expect(answer.status).toBe(403)
      expect(header(answer, 'Cache-Control')).toBe('no-store')
    })
  })

  describeBeyondHost(framework, 'deny and allow lists', () => {
    const from = (peer: string) => ({ headers: { [peerField]: peer } })

    it('an address of the deny list gets 403, uncharged and without a wait', async () => {
      const app = await run({ global: { ...one, deny: ['203.0.113.0/24', '2001:db8:bad::/48'] } })
      expect(
        await app.statuses(
          ['203.0.113.7', '::ffff:203.0.113.8', '2001:db8:bad:1::1', '198.51.100.1'].map(from)
        )
      ).toEqual([403, 403, 403, 200])
      const answer = await app.send(from('203.0.113.7'))
      expect(header(answer, 'Retry-After')).toBeUndefined()
      expect(answer.body).not.toMatch(/undefined|null|retry/i)
      const problem = await app.send({
        headers: { [peerField]: '203.0.113.7', Accept: 'application/problem+json' }
      })
      expect(JSON.parse(problem.body)).toMatchObject({ status: 403 })
    })

    it('an address of the allow list is neither counted nor limited, and carries no fields', async () => {
      const app = await run({ global: { ...one, allow: ['203.0.113.0/24', 'loopback'] } })
      expect(await app.statuses(['203.0.113.7', '203.0.113.7', '127.0.0.1', '127.0.0.1'].map(from))).toEqual([
        200, 200, 200, 200
      ])
      expect(quotaFields(await app.send(from('203.0.113.7')))).toEqual([])
      expect(await app.statuses(['198.51.100.1', '198.51.100.1'].map(from))).toEqual([200, 429])
    })

    it('both are matched before grouping: one host of a /56 is not its neighbours', async () => {
      const app = await run({ global: { ...one, allow: ['2001:db8:0:1::5'], deny: ['2001:db8:0:1::6'] } })
      expect(
        await app.statuses(
          ['2001:db8:0:1::5', '2001:db8:0:1::5', '2001:db8:0:1::6', '2001:db8:0:1::7', '2001:db8:0:1::8'].map(
            from
          )
        )
      ).toEqual([200, 200, 403, 200, 429])
    })

    it('they go by the address of the client, never by a header that nobody vouched for', async () => {
      const forged = { headers: { 'X-Forwarded-For': '203.0.113.7', 'X-Real-IP': '203.0.113.7' } }
      const app = await run({ global: { ...one, allow: ['203.0.113.7'] } })
      expect(await app.statuses([forged, forged])).toEqual([200, 429])
      const behind = await run({ global: { ...one, deny: ['203.0.113.7'] }, trustProxy: 'loopback' })
      expect(await behind.statuses([forged])).toEqual([403])
    })

    it.each([
      [['nonsense']],
      [['0.0.0.0/0']],
      [['::/0']],
      [['10.0.0.0/33']],
      ['203.0.113.7'],
      [[5]],
      [['10.0.0.1:80']]
    ])('a list that cannot work, %j, is refused', async (list) => {
      for (const option of ['allow', 'deny'])
        await expect(
          framework.build({ global: { ...one, [option]: list } as unknown as Options })
        ).rejects.toMatchObject({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining(option) })
    })
  })

  describe('statusCode', () => {
    it.each([200, 399, 600, 429.5, '429', Number.NaN, null, true])('%j is refused', async (statusCode) => {
      await expect(
        framework.build({ global: { ...one, statusCode } as unknown as Options })
      ).rejects.toMatchObject({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('statusCode') })
    })
  })

  it('EXP-04: hammering while denied earns nothing and prolongs nothing', async () => {
    const clock = manualClock()
    const app = await run({ global: { limit: 2, window: '1m', now: clock.read } })
    expect(await app.statuses(Array(22).fill({}))).toEqual([200, 200, ...Array(20).fill(429)])
    clock.pass(60_000)
    expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
  })
}
