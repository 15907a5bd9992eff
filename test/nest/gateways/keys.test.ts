import type { IncomingMessage } from 'node:http'
import { UseGuards } from '@nestjs/common'
import { type OnGatewayConnection, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit, limitGuard, type Message } from '../../../src/nest/index.js'
import { type GatewayServer, type GatewaySpec, gatewayServer, type Handshake, kinds } from './server.js'

const echo = (data: unknown) => ({ event: 'echo', data })
const once = { limit: 1, window: '1m' } as const
const messages: Message[] = []
let clock = 0
const now = () => clock
const guard = limitGuard({ ...once, now })

@WebSocketGateway()
class Keyed {
  @SubscribeMessage('address')
  @Limit(once)
  address() {
    return echo('address')
  }

  @SubscribeMessage('header')
  @Limit({ ...once, key: 'header:x-api-key' })
  header() {
    return echo('header')
  }

  @SubscribeMessage('user')
  @Limit({ ...once, key: 'user' })
  user() {
    return echo('user')
  }

  @SubscribeMessage('room')
  @Limit<Message>({
    ...once,
    key(message) {
      messages.push(message)
      return (message.data as { room: string }).room
    }
  })
  room() {
    return echo('room')
  }

  @SubscribeMessage('spared')
  @Limit<Message>({ ...once, skip: async ({ data }) => (data as { free?: boolean }).free === true })
  spared() {
    return echo('spared')
  }

  @SubscribeMessage('heavy')
  @Limit<Message>({ limit: 10, window: '1m', cost: ({ data }) => (data as string[]).length })
  heavy() {
    return echo('heavy')
  }

  @SubscribeMessage('guarded')
  @UseGuards(guard)
  guarded() {
    return echo('guarded')
  }
}

/** Keeps what the handshake said with the connection, as an application that authenticates does. */
@WebSocketGateway()
class Welcoming extends Keyed implements OnGatewayConnection {
  handleConnection(client: object, request?: IncomingMessage): void {
    const of = client as { handshake?: { headers: object }; data?: object; request?: object; user?: object }
    const headers = (of.handshake?.headers ?? request?.headers) as Record<string, string>
    const user = headers['x-user'] === undefined ? undefined : { id: headers['x-user'] }
    if (of.handshake === undefined) Object.assign(of, { request, user })
    else Object.assign(of.data!, { user })
  }
}

describe.each(kinds)('keys of messages on $library over $platform', (kind) => {
  const servers: GatewayServer[] = []
  const serve = async (spec: Partial<GatewaySpec> = {}) => {
    clock += 3_600_000
    const server = await gatewayServer(kind, { gateways: [Welcoming], options: { now }, ...spec })
    servers.push(server)
    return server
  }

  /** Whether one message each of clients who connect so is admitted. */
  const admitted = async (server: GatewayServer, event: string, handshakes: readonly Handshake[]) => {
    const seen: boolean[] = []
    for (const handshake of handshakes) {
      const client = await server.connect(handshake)
      seen.push((await client.ask(event)).event === 'echo')
    }
    return seen
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  const forwarded = ['203.0.113.9', '203.0.113.9', '203.0.113.10'].map((address) => ({
    headers: { 'x-forwarded-for': `198.51.100.7, ${address}` }
  }))

  it('reads the address that a trusted proxy names in the handshake', async () => {
    const server = await serve({ trust: ['127.0.0.1'] })
    expect(await admitted(server, 'address', forwarded)).toEqual([true, false, true])
  })

  it('believes no forwarding header where no proxy is trusted', async () => {
    expect(await admitted(await serve(), 'address', forwarded)).toEqual([true, false, false])
  })

  it('believes no forwarding header of a peer that is no proxy', async () => {
    const server = await serve({ trust: ['198.51.100.250'] })
    expect(await admitted(server, 'address', forwarded)).toEqual([true, false, false])
  })

  it('limits by a header of the handshake', async () => {
    const handshakes = ['a', 'a', 'b'].map((key) => ({ headers: { 'x-api-key': key } }))
    expect(await admitted(await serve(), 'header', handshakes)).toEqual([true, false, true])
  })

  it('limits by the address where the socket knows no headers', async () => {
    const handshakes = [{ from: '127.0.0.2' }, { from: '127.0.0.2' }, { from: '127.0.0.3' }]
    const server = await serve({ gateways: [Keyed] })
    expect(await admitted(server, 'header', handshakes)).toEqual([true, false, true])
    expect(await admitted(server, 'user', handshakes)).toEqual([true, false, true])
  })

  it('limits by the user that the connection has', async () => {
    const handshakes = ['ann', 'ann', 'bob'].map((user) => ({ headers: { 'x-user': user } }))
    expect(await admitted(await serve(), 'user', handshakes)).toEqual([true, false, true])
  })

  it('gives functions the message', async () => {
    messages.length = 0
    const client = await (await serve()).connect({ headers: { 'x-user': 'ann' } })
    const seen = []
    for (const room of ['red', 'red', 'blue']) seen.push((await client.ask('room', { room })).event)
    expect(seen).toEqual(['echo', 'exception', 'echo'])
    const [first] = messages
    expect(first).toMatchObject({ type: 'ws', data: { room: 'red' }, user: { id: 'ann' } })
    expect(first!.headers['x-user']).toBe('ann')
    expect(first!.client).toBe(messages[2]!.client)
    expect(first!.rateLimit).toMatchObject({ allowed: true, limit: 1, key: 'red' })
  })

  it('skips and prices messages by what they say', async () => {
    const client = await (await serve()).connect()
    const seen = []
    for (const free of [true, true, false, false, true])
      seen.push((await client.ask('spared', { free })).event === 'echo')
    expect(seen).toEqual([true, true, true, false, true])
    const left = []
    for (const count of [4, 4, 4, 2])
      left.push((await client.ask('heavy', Array(count).fill('item'))).event === 'echo')
    expect(left).toEqual([true, true, false, true])
  })

  it('limits by a guard of its own, without the module', async () => {
    const server = await gatewayServer(kind, { gateways: [Guardable] })
    servers.push(server)
    clock += 3_600_000
    const client = await server.connect()
    expect((await client.ask('guarded')).event).toBe('echo')
    expect((await client.ask('guarded')).data).toMatchObject({ status: 'error', retryAfter: 60 })
  })
})

@WebSocketGateway()
class Guardable {
  @SubscribeMessage('guarded')
  @UseGuards(guard)
  guarded() {
    return echo('guarded')
  }
}
