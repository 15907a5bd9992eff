import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import express5 from 'express'
// @ts-expect-error: its types are those of Express 5
import express4 from 'express4'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { type RateLimitOptions, rateLimit } from '../../src/express/index.js'

const one = { limit: 1, window: 60_000, now: () => 1_699_999_200_000 }

describe.each([
  ['Express 4', express4 as typeof express5],
  ['Express 5', express5]
])('onLimited on %s', (_, express) => {
  const denied = async (
    onLimited: RateLimitOptions['onLimited'],
    earlier: (res: express5.Response) => void = () => {}
  ) => {
    const app = express()
    app.engine('html', (_path, _options, rendered) => setImmediate(rendered, null, '<p>rendered</p>'))
    app.set('views', import.meta.dirname)
    app.get('/of-express', (req, res) => void res.send((req.query.json && { json: true }) || 'text'))
    app.use((_req, res, next) => {
      earlier(res)
      next()
    })
    app.use(rateLimit({ ...one, onLimited }))
    app.use((_req, res) => void res.end('ok'))
    await request(app).get('/')
    return Object.assign(await request(app).get('/'), { app })
  }

  it.each([
    ['a text', () => 'slow down', 'text/html; charset=utf-8', 'slow down'],
    ['an empty text', () => '', 'text/html; charset=utf-8', ''],
    ['a promise of a text', async () => 'slow down', 'text/html; charset=utf-8', 'slow down'],
    ['an object', () => ({ slow: 'dówn' }), 'application/json; charset=utf-8', '{"slow":"dówn"}'],
    ['null', () => null, 'application/json; charset=utf-8', 'null'],
    ['a number', () => 5, 'application/json; charset=utf-8', '5']
  ])('sends %s as `response.send` does', async (_name, onLimited, type, body) => {
    for (const earlier of [undefined, (res: express5.Response) => void res.type('image/png')]) {
      const answer = await denied(onLimited, earlier)
      expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([429, type, body])
      expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(body)))
    }
  })

  it.each([Buffer.from('bytes'), new Uint8Array(Buffer.from('bytes'))])(
    'sends %s as bytes',
    async (bytes) => {
      const answer = await denied(() => bytes)
      expect(answer.headers['content-type']).toBe('application/octet-stream')
      expect(answer.body.toString()).toBe('bytes')
    }
  )

  it.each([
    ['text/plain', 'slow', 'text/plain; charset=utf-8'],
    ['text/csv; charset=latin1', 'slow', /^text\/csv; charset=/],
    ['application/problem+json', { title: 'slow' }, /^application\/problem\+json/],
    ['image/png', Buffer.from('x'), 'image/png']
  ])('keeps the Content-Type %s that it has set', async (type, value, expected) => {
    const answer = await denied((_req, res) => {
      res.setHeader('Content-Type', type)
      return value
    })
    expect(answer.headers['content-type']).toMatch(expected)
  })

  it.each([
    ['renders a view', (res: express5.Response) => res.render('denied.html'), '<p>rendered</p>'],
    [
      'sends a file',
      (res: express5.Response) => res.sendFile(`${import.meta.dirname}/denied.html`),
      '<p>file</p>\n'
    ],
    ['sends', (res: express5.Response) => void res.send('sent'), 'sent'],
    ['pipes', (res: express5.Response) => void Readable.from(['piped']).pipe(res), 'piped']
  ])('answers nothing of its own where it %s and returns nothing', async (_name, answers, text) => {
    const answer = await denied((_req, res) => {
      answers(res)
    })
    expect([answer.status, answer.text]).toEqual([429, text])
    expect(answer.headers['retry-after']).toBe('60')
  })

  it('leaves methods that others have put on the response where they are', async () => {
    const calls: string[] = []
    let after: unknown
    await denied(
      (_req, res) => {
        queueMicrotask(() => {
          after = Object.hasOwn(res, 'sendFile')
        })
        res.render('denied.html')
      },
      (res) => {
        const { render } = res
        res.render = function (this: express5.Response, ...args: unknown[]) {
          calls.push('render')
          return (render as (...args: unknown[]) => void).apply(this, args)
        } as typeof render
      }
    )
    expect([calls, after]).toEqual([['render'], false])
  })

  it.each([
    ['returns', false],
    ['throws', true]
  ])('an error that it %s has the framework’s handler', async (_name, isThrown) => {
    const seen: { error: Error; status: number }[] = []
    const error = new TypeError('locked')
    const app = express()
    app.use(
      rateLimit({
        ...one,
        onLimited: () => {
          if (isThrown) throw error
          return error
        }
      })
    )
    app.use((_req, res) => void res.end('ok'))
    app.use(((error: Error & { status?: number }, _req, res, _next) => {
      seen.push({ error, status: res.statusCode })
      res.redirect('/sorry')
    }) as express5.ErrorRequestHandler)
    await request(app).get('/')
    const answer = await request(app).get('/')
    expect([answer.status, answer.headers.location]).toEqual([302, '/sorry'])
    expect(seen).toEqual([{ error, status: isThrown ? 200 : 429 }])
    expect((error as { status?: number }).status).toBe(isThrown ? undefined : 429)
  })
})

it('on a bare Node server a text has the same Content-Type', async () => {
  const limit = rateLimit({ ...one, onLimited: () => 'slow' })
  const server = createServer((req, res) => limit(req, res, () => res.end('ok')))
  await request(server).get('/')
  const answer = await request(server).get('/')
  expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
    429,
    'text/html; charset=utf-8',
    'slow'
  ])
})
