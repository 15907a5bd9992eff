import { Controller, Get } from '@nestjs/common'
import { MessagePattern } from '@nestjs/microservices'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Limit as PlainLimit } from '../../../src/index.js'
import { limitGuard } from '../../../src/nest/index.js'
import { ByClass, clock, events, Guarded, Jobs, messages, namesake, now, once, told } from './controllers.js'
import { type Client, kinds, type Service, type ServiceSpec, service } from './server.js'

@Controller()
class Unmarked {
  @Get() page() {}
  @MessagePattern('plain') plain() {
    return 'plain'
  }
}

/** Whether so many messages, one after the other, are admitted. */
async function admitted(client: Client, pattern: string, times: number): Promise<boolean[]> {
  const seen: boolean[] = []
  for (let i = 0; i < times; i++) seen.push((await client.ask(pattern)).error === undefined)
  return seen
}

describe.each(kinds)('messages of a microservice %s', (kind) => {
  const services: Service[] = []
  const serve = async (spec: Partial<ServiceSpec> = {}) => {
    clock.ms += 3_600_000
    const options = { limit: 2, window: '1m', now } as const
    const made = await service(kind, { controllers: [Jobs], options, ...spec })
    services.push(made)
    return made
  }

  afterEach(async () => {
    for (const made of services.splice(0)) await made.close()
  })

  it('leaves messages without a mark alone', async () => {
    expect(await admitted((await serve()).connect(), 'plain', 6)).toEqual(Array(6).fill(true))
  })

  it.each([true, false])(
    'leaves them alone under a global guard (with the module: %s)',
    async (hasModule) => {
      const guard = limitGuard({ ...once, now })
      const spec = { guards: [guard], ...(hasModule ? {} : { options: undefined, controllers: [Unmarked] }) }
      const { url, connect } = await serve(spec)
      expect(await admitted(connect(), 'plain', 6)).toEqual(Array(6).fill(true))
      if (url === undefined) return
      expect([(await fetch(url)).status, (await fetch(url)).status]).toEqual(
        hasModule ? [404, 404] : [200, 429]
      )
      expect(await admitted(connect(), 'plain', 2)).toEqual([true, true])
    }
  )

  it('tells the client of a denial, and admits after the wait', async () => {
    const client = (await serve()).connect()
    expect(await admitted(client, 'marked', 3)).toEqual([true, true, true])
    const { error } = await client.ask('marked')
    expect(error).toMatchObject({ status: 'error', code: 'TOO_MANY_REQUESTS', retryAfter: 60 })
    expect(error!.message).toMatch(/too many requests/i)
    expect(await client.ask('plain')).toEqual({ data: 'plain' })
    clock.ms += 59_999
    expect((await client.ask('marked')).error).toMatchObject({ retryAfter: 1 })
    clock.ms += 1
    expect(await client.ask('marked')).toEqual({ data: 'marked' })
  })

  it('counts by the address of the connection, over all its connections', async () => {
    const server = await serve()
    expect(await admitted(server.connect(), 'marked', 2)).toEqual([true, true])
    expect(await admitted(server.connect(), 'marked', 2)).toEqual([true, false])
    expect(await admitted(server.connect('127.0.0.2'), 'marked', 1)).toEqual([true])
  })

  it('limits events, which are answered nothing', async () => {
    events.length = 0
    const client = (await serve()).connect()
    for (let i = 0; i < 5; i++) await client.emit('happened', i)
    await vi.waitFor(() => expect(events).toHaveLength(2))
    for (let i = 0; i < 3; i++) await client.ask('plain')
    expect(events).toEqual([0, 1])
  })

  it('limits by the class, by the method in its place, and counts a message once', async () => {
    const client = (await serve({ controllers: [ByClass] })).connect()
    expect(await admitted(client, 'own', 5)).toEqual([true, true, true, true, false])
    expect(await admitted(client, 'one', 3)).toEqual([true, true, false])
    expect(await admitted(client, 'free', 4)).toEqual(Array(4).fill(true))
  })

  it("applies the module's limit where its guard stands, once though it stands twice", async () => {
    const client = (await serve({ controllers: [Guarded] })).connect()
    expect(await admitted(client, 'twice', 3)).toEqual([true, true, false])
  })

  it('keeps classes of one name apart', async () => {
    const client = (await serve({ controllers: [namesake('first'), namesake('second')] })).connect()
    expect(await admitted(client, 'first', 2)).toEqual([true, false])
    expect(await admitted(client, 'second', 2)).toEqual([true, false])
  })

  it('gives functions the message', async () => {
    messages.length = 0
    const client = (await serve()).connect()
    const seen = []
    for (const room of ['red', 'red', 'blue']) seen.push((await client.ask('room', { room })).data)
    expect(seen).toEqual(['red', undefined, 'blue'])
    expect(messages[0]).toMatchObject({ type: 'rpc', data: { room: 'red' }, headers: {} })
    expect(messages[0]!.client).toHaveProperty('getPattern')
    expect(messages[0]!.rateLimit).toMatchObject({ allowed: true, limit: 1, key: 'red' })
  })

  it('gives filters the decision, and clients the message of the limit', async () => {
    told.length = 0
    const client = (await serve()).connect()
    expect(await admitted(client, 'told', 1)).toEqual([true])
    const { error } = await client.ask('told')
    expect(error).toMatchObject({ status: 'error', message: 'not so fast', retryAfter: 60 })
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ allowed: false, limit: 1, remaining: 0, retryAfterMs: 60_000 })
  })

  it('keeps a message counted under countOnly, for it has no status', async () => {
    expect(await admitted((await serve()).connect(), 'counted', 4)).toEqual([true, true, false, false])
  })

  it('admits exactly the limit of many messages at once', async () => {
    const server = await serve()
    const clients = Array.from({ length: 4 }, () => server.connect())
    const answers = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 40 }, () => client.ask('marked')))
    )
    expect(answers.filter(({ data }) => data === 'marked')).toHaveLength(3)
    expect(answers.filter(({ error }) => error?.status === 'error')).toHaveLength(157)
  })

  it('limits by a guard of its own', async () => {
    const client = (await serve()).connect()
    expect(await client.ask('guarded')).toEqual({ data: 'guarded' })
    expect((await client.ask('guarded')).error).toMatchObject({ status: 'error', retryAfter: 60 })
  })

  it.skipIf(kind === 'alone')('counts requests of HTTP and messages to one class together', async () => {
    const { url, connect } = await serve({ controllers: [ByClass] })
    const client = connect()
    expect((await fetch(`${url}/page`)).headers.get('ratelimit-remaining')).toBe('1')
    expect(await admitted(client, 'one', 2)).toEqual([true, false])
    expect((await fetch(`${url}/page`)).status).toBe(429)
  })

  it('does not start where the mark is the one for plain classes', async () => {
    @Controller()
    class Misled {
      @MessagePattern('plain')
      @PlainLimit(once)
      plain(): string {
        return 'plain'
      }
    }
    await expect(serve({ controllers: [Misled] })).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
  })
})
