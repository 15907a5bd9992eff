import { connect } from 'node:http2'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'

it('a client that resets its HTTP/2 stream before the answer stays counted', async () => {
  const app = Fastify({ http2: true })
  await app.register(rateLimit, { limit: 2, window: '15m', countOnly: 'failures' })
  const held: (() => void)[] = []
  let reached: () => void = () => {}
  app.post('/login', async (_request, reply) => {
    reached()
    await new Promise<void>((resolve) => held.push(resolve))
    return reply.code(401).send('no')
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connect(`http://127.0.0.1:${(app.server.address() as { port: number }).port}`)
  const post = () => client.request({ ':method': 'POST', ':path': '/login' }).on('error', () => {})
  for (let i = 0; i < 2; i++) {
    const arrived = new Promise<void>((resolve) => {
      reached = resolve
    })
    const stream = post()
    stream.end()
    await arrived
    const closed = new Promise((resolve) => stream.on('close', resolve))
    stream.close(8)
    await closed
  }
  const status = await new Promise((resolve) => {
    const stream = post()
    stream.on('response', (headers) => resolve(headers[':status']))
    stream.end()
  })
  expect(status).toBe(429)
  for (const release of held) release()
  client.destroy()
  await app.close()
})

it('an HTTP/2 request with a body is no preflight, though no field tells of the body', async () => {
  const app = Fastify({ http2: true })
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(null, undefined)
  })
  await app.register(rateLimit, { limit: 1, window: '15m' })
  app.all('/', async () => 'ok')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connect(`http://127.0.0.1:${(app.server.address() as { port: number }).port}`)
  const ask = (fields: Record<string, string>, body?: string) =>
    new Promise((resolve) => {
      const stream = client.request({ ':path': '/', ...fields }, { endStream: body === undefined })
      stream.on('response', (headers) => resolve(headers[':status']))
      if (body !== undefined) stream.end(body)
    })
  const preflight = {
    ':method': 'OPTIONS',
    origin: 'https://app.example',
    'access-control-request-method': 'POST'
  }
  expect(await ask({ ...preflight, 'content-type': 'text/plain' }, 'pin=1234')).toBe(200)
  expect(await ask({ ':method': 'GET' })).toBe(429)
  expect(await ask(preflight)).toBe(200)
  client.destroy()
  await app.close()
})
