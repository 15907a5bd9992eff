import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'
import { Client } from '../http/behaviour/client.js'
import { within } from '../http/behaviour/harness.js'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

describe('what is held on Fastify', () => {
  it('SLO-14: `app.close` has all go on at once', async () => {
    const reached: string[] = []
    const app = Fastify()
    await app.register(rateLimit, {
      key: () => 'k',
      limit: Infinity,
      window: '1h',
      delay: { step: '1h', max: '1h' }
    })
    app.get('/:id', async ({ url }) => void reached.push(url))
    open.push(() => app.close())
    await app.listen({ port: 0, host: '127.0.0.1' })
    const client = new Client({ port: (app.server.address() as AddressInfo).port })
    open.push(() => client.close())
    await client.get('/1')
    const held = ['/2', '/3'].map((path) => client.get(path, { Connection: 'close' }))
    expect(await within(Promise.race(held), 50)).toBe('pending')
    const closing = app.close()
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
    client.close()
    await closing
    expect(reached.toSorted()).toEqual(['/1', '/2', '/3'])
  })

  it('a route takes no `delay` of its plugin with a limit of its own', async () => {
    const app = Fastify()
    await app.register(rateLimit, { limit: 100, window: '1h', delay: { after: 0, step: '1h' } })
    app.get('/own', { limit: { limit: 5, window: '1m' } }, async ({ rateLimit }) => rateLimit!.delayMs)
    open.push(() => app.close())
    expect((await app.inject('/own')).body).toBe('0')
  })
})
