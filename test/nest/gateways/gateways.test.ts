import { type ArgumentsHost, Catch, type ExceptionFilter, UseFilters, UseGuards } from '@nestjs/common'
import { BaseWsExceptionFilter, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit as PlainLimit } from '../../../src/index.js'
import { Limit, RateLimitGuard, type RequestRateLimit } from '../../../src/nest/index.js'
import { type Client, type GatewayServer, type GatewaySpec, gatewayServer, kinds } from './server.js'

const told: (RequestRateLimit | undefined)[] = []

@Catch(WsException)
class Listener extends BaseWsExceptionFilter implements ExceptionFilter {
  override catch(exception: WsException & { rateLimit?: RequestRateLimit }, host: ArgumentsHost): void {
    told.push(exception.rateLimit)
    super.catch(exception, host)
  }
}

const echo = (data: unknown) => ({ event: 'echo', data })

@WebSocketGateway()
class Mixed {
  @SubscribeMessage('plain')
  plain() {
    return echo('plain')
  }

  @SubscribeMessage('marked')
  @Limit({ limit: 3, window: '1m' })
  marked() {
    return echo('marked')
  }

  @SubscribeMessage('told')
  @UseFilters(Listener)
  @Limit({ limit: 1, window: '1m', message: 'not so fast' })
  told() {
    return echo('told')
  }

  @SubscribeMessage('counted')
  @Limit({ limit: 2, window: '1m', countOnly: 'failures' })
  counted() {
    return echo('counted')
  }

  @SubscribeMessage('named')
  @Limit('scarce')
  named() {
    return echo('named')
  }
}

@WebSocketGateway()
@Limit({ limit: 2, window: '1m' })
class ByClass {
  @SubscribeMessage('one')
  one() {
    return echo('one')
  }

  @SubscribeMessage('two')
  two() {
    return echo('two')
  }

  @SubscribeMessage('own')
  @Limit({ limit: 4 })
  own() {
    return echo('own')
  }

  @SubscribeMessage('free')
  @Limit.skip()
  free() {
    return echo('free')
  }
}

@WebSocketGateway()
@UseGuards(RateLimitGuard)
class Guarded {
  @SubscribeMessage('plain')
  plain() {
    return echo('plain')
  }

  @SubscribeMessage('twice')
  @UseGuards(RateLimitGuard)
  twice() {
    return echo('twice')
  }
}

/** What so many messages are answered, one after the other: `'exception'` for a denied one. */
async function events(client: Client, event: string, times: number): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < times; i++) seen.push((await client.ask(event)).event)
  return seen
}

describe.each(kinds)('gateways on $library over $platform', (kind) => {
  const servers: GatewayServer[] = []
  let clock = 0
  const options = {
    limit: 2,
    window: '1m',
    now: () => clock,
    policies: { scarce: { limit: 1, window: '1m' } }
  } as const

  const serve = async (spec: GatewaySpec) => {
    clock = 0
    const server = await gatewayServer(kind, spec)
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it('leaves messages without a mark alone', async () => {
    const client = await (await serve({ gateways: [Mixed], options })).connect()
    expect(await events(client, 'plain', 6)).toEqual(Array(6).fill('echo'))
  })

  it('NST-04: tells the client of a denial, keeps the connection, and admits after the wait', async () => {
    const client = await (await serve({ gateways: [Mixed], options })).connect()
    expect(await events(client, 'marked', 3)).toEqual(['echo', 'echo', 'echo'])
    const denied = await client.ask('marked')
    expect(denied.event).toBe('exception')
    expect(denied.data).toMatchObject({ status: 'error', retryAfter: 60, code: 'TOO_MANY_REQUESTS' })
    expect((denied.data as Error).message).toMatch(/too many requests/i)
    expect(await client.ask('plain')).toEqual({ event: 'echo', data: 'plain' })
    clock = 59_999
    expect((await client.ask('marked')).data).toMatchObject({ retryAfter: 1 })
    clock = 60_000
    expect(await client.ask('marked')).toEqual({ event: 'echo', data: 'marked' })
  })

  it('counts by the address of the socket, over all its connections', async () => {
    const server = await serve({ gateways: [Mixed], options })
    expect(await events(await server.connect(), 'marked', 2)).toEqual(['echo', 'echo'])
    expect(await events(await server.connect(), 'marked', 2)).toEqual(['echo', 'exception'])
    expect(await events(await server.connect({ from: '127.0.0.2' }), 'marked', 1)).toEqual(['echo'])
  })

  it('limits by the class, by the method in its place, and counts a message once', async () => {
    const client = await (await serve({ gateways: [ByClass], options })).connect()
    expect(await events(client, 'own', 5)).toEqual(['echo', 'echo', 'echo', 'echo', 'exception'])
    expect(await events(client, 'one', 1)).toEqual(['echo'])
    expect(await events(client, 'two', 2)).toEqual(['echo', 'exception'])
    expect(await events(client, 'free', 4)).toEqual(Array(4).fill('echo'))
  })

  it("applies the module's limit where its guard stands, once though it stands twice", async () => {
    const client = await (await serve({ gateways: [Guarded], options })).connect()
    expect(await events(client, 'twice', 1)).toEqual(['echo'])
    expect(await events(client, 'plain', 2)).toEqual(['echo', 'exception'])
    expect(await events(client, 'twice', 1)).toEqual(['exception'])
  })

  it('limits by a named policy', async () => {
    const client = await (await serve({ gateways: [Mixed], options })).connect()
    expect(await events(client, 'named', 2)).toEqual(['echo', 'exception'])
  })

  it('gives filters the decision, and clients the message of the limit', async () => {
    told.length = 0
    const client = await (await serve({ gateways: [Mixed], options })).connect()
    expect(await events(client, 'told', 1)).toEqual(['echo'])
    const { data } = await client.ask('told')
    expect(data).toMatchObject({ status: 'error', message: 'not so fast', retryAfter: 60 })
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ allowed: false, limit: 1, remaining: 0, retryAfterMs: 60_000 })
  })

  it('keeps a message counted under countOnly, for it has no status', async () => {
    const client = await (await serve({ gateways: [Mixed], options })).connect()
    expect(await events(client, 'counted', 4)).toEqual(['echo', 'echo', 'exception', 'exception'])
  })

  it('admits exactly the limit of many messages at once', async () => {
    const server = await serve({ gateways: [Mixed], options })
    const clients = await Promise.all(Array.from({ length: 5 }, () => server.connect()))
    const replies = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 40 }, () => client.ask('marked')))
    )
    expect(replies.filter(({ event }) => event === 'echo')).toHaveLength(3)
    expect(replies.filter(({ event }) => event === 'exception')).toHaveLength(197)
  })

  it('does not start where the mark is the one for plain classes', async () => {
    @WebSocketGateway()
    class Misled {
      @SubscribeMessage('plain')
      @PlainLimit({ limit: 1, window: '1m' })
      plain() {
        return echo('plain')
      }
    }
    await expect(serve({ gateways: [Misled], options })).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
    await expect(serve({ gateways: [Misled], options })).rejects.toThrow(/Misled\.plain.*headgate\/nest/)
  })
})
