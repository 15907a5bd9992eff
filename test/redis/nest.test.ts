import { Controller, Get, Inject } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Limit, RateLimitModule, RateLimitService } from '../../src/nest/index.js'
import { redisStore } from '../../src/redis/index.js'
import { nestApps, platforms } from '../nest/app.js'
import { ask } from './support/ask.js'
import { freshPrefix, servers } from './support/stores.js'

@Controller('a')
class First {
  readonly limits: RateLimitService

  constructor(@Inject(RateLimitService) limits: RateLimitService) {
    this.limits = limits
  }

  @Get() page() {}
  @Get('own') @Limit({ limit: 2, window: '1h' }) own() {}
}

@Controller('a')
class Hot {
  @Get() page() {}
}

/** A controller of another file, with the names of the first. */
function second() {
  @Controller('b')
  class First {
    @Get('own') @Limit({ limit: 2, window: '1h' }) own() {}
  }
  return First
}

describe.skipIf(servers === null).each(platforms)('in Nest on %s, a Redis store', (platform) => {
  const start = nestApps()
  let client: Redis

  beforeAll(() => {
    client = new Redis(servers!.single)
  })
  afterAll(() => client?.disconnect())

  /** As an application sets it up: options from the configuration, a store on the application's client. */
  const limited = (prefix: string, more: object = {}) =>
    RateLimitModule.forRootAsync({
      imports: [ConfigModule.forRoot({ ignoreEnvFile: true, load: [() => ({ LIMIT: 3 })] })],
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        limit: config.getOrThrow<number>('LIMIT'),
        window: '1h',
        strategy: 'gcra',
        store: redisStore(client, { prefix, deadline: '10s' }),
        policies: { login: { limit: 2, window: '1h', key: 'header:x-account' } },
        ...more
      })
    })

  it('counts for all processes, each handler by its class and name', async () => {
    const prefix = freshPrefix()
    const controllers = [First, second()]
    const one = await start(platform, { imports: [limited(prefix)], controllers })
    const other = await start(platform, { imports: [limited(prefix)], controllers })
    expect([...(await one.statuses('/a', '/a')), ...(await other.statuses('/a', '/a'))]).toEqual([
      200, 200, 200, 429
    ])
    expect(await one.statuses('/a/own', '/b/own')).toEqual([200, 200])
    expect(await other.statuses('/a/own', '/b/own', '/a/own', '/b/own')).toEqual([200, 200, 429, 429])
  })

  it('counts policies apart whose limits are named as the module’s', async () => {
    const limits = (limit: number) => [
      { name: 'short', limit, window: '1h' },
      { limit: 9, window: '1d' }
    ]
    const more = { limit: undefined, window: undefined, strategy: undefined, limits: limits(2) }
    const policies = { login: { limits: limits(1) }, token: { limits: limits(1) } }
    @Controller()
    class Pages {
      @Get() page() {}
      @Get('login') @Limit('login') login() {}
      @Get('token') @Limit('token') token() {}
    }
    const options = { imports: [limited(freshPrefix(), { ...more, policies })], controllers: [Pages] }
    const { statuses } = await start(platform, options)
    expect(await statuses('/', '/', '/', '/login', '/login', '/token')).toEqual([
      200, 200, 429, 200, 429, 200
    ])
  })

  it('is used by hand through the service', async () => {
    const { app } = await start(platform, { imports: [limited(freshPrefix())], controllers: [First] })
    const { limits } = app.get(First)
    expect(await limits.consume('login', 'ada', 2)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limits.peek('login', 'ada')).toMatchObject({ allowed: false })
    await limits.reset('login', 'ada')
    await limits.block('login', 'bob', '10m')
    expect(await limits.consume('login', 'ada')).toMatchObject({ allowed: true })
    expect(await limits.consume('login', 'bob')).toMatchObject({ allowed: false })
    await limits.refund('login', 'ada')
    expect(await limits.peek('login', 'ada')).toMatchObject({ remaining: 2 })
  })

  it('is closed when the application shuts down, so that leased units are returned', async () => {
    const prefix = freshPrefix()
    const lease = { strategy: 'token-bucket', limit: 100, lease: 20, policies: {} }
    const leased = await start(platform, { imports: [limited(prefix, lease)], controllers: [Hot] })
    expect(await leased.statuses('/a', '/a', '/a', '/a')).toEqual([200, 200, 200, 200])
    await leased.app.close()
    const later = await start(platform, { imports: [limited(prefix, lease)], controllers: [Hot] })
    const { headers } = await later.request('/a')
    expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThanOrEqual(95)
    expect(await ask(servers!.single, 'PING')).toBe('PONG')
    expect(client.status).toBe('ready')
  })
})
