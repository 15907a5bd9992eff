import { Controller, Get } from '@nestjs/common'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit, RateLimitService } from '../../src/nest/index.js'
import { gate, turns, until } from '../http/behaviour/harness.js'
import { nestApps, platforms } from './app.js'
import { type GatewayServer, gatewayServer, kinds } from './gateways/server.js'

let held = gate()
let begun = 0

@Controller()
class Slow {
  @Get('slow')
  @Limit({ concurrency: 1, queue: 3, maxWait: '1m', key: () => 'k' })
  async slow() {
    begun++
    await held.promise
    return 'ok'
  }

  @Get('other')
  other() {
    return 'ok'
  }
}

const handled: string[] = []

@WebSocketGateway()
class Messages {
  @SubscribeMessage('slow')
  @Limit({ concurrency: 1 })
  slow() {
    handled.push('slow')
    return { event: 'slow', data: 1 }
  }
}

describe('what is in flight on NestJS', () => {
  const start = nestApps()

  it.each(platforms)(
    'a shutdown answers those who wait before it waits for the others (%s)',
    async (platform) => {
      held = gate()
      begun = 0
      const { app, request } = await start(platform, { options: {}, controllers: [Slow] })
      const asked = [request('/slow', { Connection: 'close' })]
      await until(() => begun === 1)
      asked.push(request('/slow', { Connection: 'close' }))
      await request('/other', { Connection: 'close' })
      await turns()
      expect(app.get(RateLimitService).peek([Slow, 'slow'], 'k')).toMatchObject({ remaining: 0 })
      const closing = app.close()
      expect((await asked[1]!).status).toBe(503)
      held.open()
      expect((await asked[0]!).status).toBe(200)
      await closing
      expect(begun).toBe(1)
    }
  )
})

describe('messages', () => {
  let server: GatewayServer | undefined
  afterEach(() => server?.close())

  // Nothing tells when one has been handled.
  it.each(kinds)('are not counted in flight, and not let pass either (%o)', async (kind) => {
    server = await gatewayServer(kind, { gateways: [Messages], options: {} })
    const client = await server.connect()
    expect((await client.ask('slow')).event).toBe('exception')
    expect(handled).toEqual([])
  })
})
