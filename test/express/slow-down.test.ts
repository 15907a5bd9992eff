import express, { type Request } from 'express'
import { slowDown } from 'express-slow-down'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import { Client } from '../http/behaviour/client.js'
import { runs } from '../support/traces.js'

const open: (() => unknown)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

const keyOf = ({ headers }: Request) => String(headers['x-key'])

/** A server with a route for each of the two, which tells for how long the request was held. */
async function serve(delayAfter: number, stepMs: number, maxDelayMs: number): Promise<Client> {
  const app = express()
  app.get(
    '/theirs',
    slowDown({
      windowMs: 3_600_000,
      delayAfter,
      delayMs: (used: number) => (used - delayAfter) * stepMs,
      maxDelayMs,
      keyGenerator: keyOf
    }),
    (request, response) => {
      response.json((request as unknown as { slowDown: { delay: number } }).slowDown.delay)
    }
  )
  app.get(
    '/ours',
    rateLimit({
      limit: Infinity,
      window: '1h',
      align: 'first-request',
      key: keyOf,
      delay: { after: delayAfter, step: stepMs, max: maxDelayMs },
      headers: 'none'
    }),
    (request, response) => {
      response.json(request.rateLimit!.delayMs)
    }
  )
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const client = new Client({ port: (server.address() as { port: number }).port })
  open.push(
    () => client.close(),
    () => server.close()
  )
  return client
}

describe('beside express-slow-down', () => {
  it('the same requests are held for as long', async () => {
    const property = fc.asyncProperty(
      fc.nat(4),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 7 }),
      fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 15 }),
      async (after, stepMs, maxMs, keys) => {
        const client = await serve(after, stepMs, maxMs)
        const answers = async (path: string) => {
          const bodies: string[] = []
          for (const key of keys) bodies.push((await client.get(path, { 'X-Key': key })).body)
          return bodies
        }
        const [theirs, ours] = [await answers('/theirs'), await answers('/ours')]
        expect(ours).toEqual(theirs)
      }
    )
    await fc.assert(property, runs(15))
  })

  it('of their defaults we have that of `after`', async () => {
    const app = express()
    const delays: number[] = []
    app.get('/', slowDown({ windowMs: 3_600_000, maxDelayMs: 3 }), (request, response) => {
      delays.push((request as unknown as { slowDown: { delay: number } }).slowDown.delay)
      response.end()
    })
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const client = new Client({ port: (server.address() as { port: number }).port })
    open.push(
      () => client.close(),
      () => server.close()
    )
    await client.statuses([{}, {}, {}])
    // One goes free, as with us.
    expect(delays).toEqual([0, 3, 3])
  })
})
