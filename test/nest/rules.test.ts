import { All, Controller, Get, Module, Post, VersioningType } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { Limit } from '../../src/nest/index.js'
import { nestApps, platforms, times } from './app.js'

const minute = { window: '1m' } as const

describe.each(platforms)('on %s, what limits a handler', (platform) => {
  const start = nestApps()

  it('is the module’s limit, one counter for all handlers (NST-07)', async () => {
    @Controller()
    class Pages {
      @Get('a') a() {}
      @Get('b') b() {}
      @Get('c') c() {}
    }
    const shared = await start(platform, { options: { limit: 2, ...minute }, controllers: [Pages] })
    expect(await shared.statuses('/a', '/b', '/c')).toEqual([200, 200, 429])
    const apart = await start(platform, {
      options: { limit: 2, ...minute, scope: 'handler' },
      controllers: [Pages]
    })
    expect(await apart.statuses('/a', '/b', '/c', '/a', '/a')).toEqual([200, 200, 200, 200, 429])
  })

  it('is its class’s limit in place of the module’s, one counter for all methods of the class', async () => {
    @Controller('reports')
    @Limit({ limit: 2, ...minute })
    class Reports {
      @Get('a') a() {}
      @Get('b') b() {}
    }
    @Controller('handlers')
    @Limit({ limit: 2, ...minute, scope: 'handler' })
    class Handlers {
      @Get('a') a() {}
      @Get('b') b() {}
    }
    const { statuses } = await start(platform, {
      options: { limit: 1, ...minute },
      controllers: [Reports, Handlers]
    })
    expect(await statuses('/reports/a', '/reports/b', '/reports/a')).toEqual([200, 200, 429])
    expect(await statuses('/handlers/a', '/handlers/b', '/handlers/a', '/handlers/a')).toEqual([
      200, 200, 200, 429
    ])
  })

  it('is its own limit in place of its class’s and the module’s, with a counter of its own (DEC-03)', async () => {
    @Controller()
    @Limit({ limit: 1, ...minute })
    class Tokens {
      @Post('first') @Limit({ limit: 5, window: '5m' }) first() {}
      @Post('second') @Limit({ limit: 3, window: '5m' }) second() {}
    }
    const { request } = await start(platform, { options: { limit: 1, ...minute }, controllers: [Tokens] })
    const post = async (path: string) => (await request(path, {}, 'POST')).status
    const seen: number[] = []
    for (const path of [...times(3, '/first'), ...times(3, '/second'), '/second']) seen.push(await post(path))
    expect(seen).toEqual([201, 201, 201, 201, 201, 201, 429])
  })

  it('is what a method leaves out by its class, and what that leaves out by the module (DEC-06)', async () => {
    const headers = 'draft-11'
    @Controller()
    @Limit({ limit: 2, window: '60s', key: 'header:x-api-key' })
    class Limited {
      @Get('ordinary') ordinary() {}
      @Get('overridden') @Limit({ limit: 1 }) overridden() {}
    }
    @Controller('skipped')
    @Limit.skip()
    class Skipped {
      @Get() quiet() {}
      @Get('not') @Limit.skip(false) limited() {}
      @Get('own') @Limit({ limit: 1 }) own() {}
    }
    const { request, statuses } = await start(platform, {
      options: { limit: 3, window: '60s', headers },
      controllers: [Limited, Skipped]
    })
    expect(await statuses(...times(3, '/ordinary'))).toEqual([200, 200, 429])
    expect(await statuses('/overridden', '/overridden')).toEqual([200, 429])
    const other = await request('/overridden', { 'x-api-key': 'another' })
    expect(other.headers.get('ratelimit-policy')).toBe('"default";q=1;w=60')
    expect(await statuses(...times(5, '/skipped'))).toEqual([200, 200, 200, 200, 200])
    expect((await request('/skipped')).headers.has('ratelimit')).toBe(false)
    expect(await statuses(...times(4, '/skipped/not'))).toEqual([200, 200, 200, 429])
    expect(await statuses('/skipped/own', '/skipped/own')).toEqual([200, 429])
  })

  it('is nothing where it is skipped, also with several limits (DEC-01)', async () => {
    @Controller()
    class Pages {
      @Get() page() {}
      @Get('free') @Limit.skip() free() {}
    }
    const limits = [
      { name: 'short', limit: 1, window: '60s' },
      { name: 'long', limit: 5, window: '600s' }
    ]
    const { request, statuses } = await start(platform, { options: { limits }, controllers: [Pages] })
    expect(await statuses('/free', '/free', '/free')).toEqual([200, 200, 200])
    expect([...(await request('/free')).headers.keys()].filter((name) => name.startsWith('rate'))).toEqual([])
    expect(await statuses('/', '/')).toEqual([200, 429])
  })

  it('is all of several limits together, or none', async () => {
    let now = 0
    @Controller()
    class Pages {
      @Get()
      @Limit({ limit: 1, window: '1s', now: () => now })
      @Limit('ip', 3, '1h')
      page() {}
    }
    const { request, statuses } = await start(platform, { options: {}, controllers: [Pages] })
    expect(await statuses('/', '/', '/', '/')).toEqual([200, 429, 429, 429])
    now = 1000
    const { headers } = await request('/')
    expect([headers.get('ratelimit-policy'), headers.get('ratelimit-remaining')]).toEqual([
      '1;w=1, 3;w=3600',
      '0'
    ])
    now = 2000
    expect(await statuses('/')).toEqual([200])
    now = 3000
    const denied = await request('/')
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '3597'])
  })

  it('is a policy by its name, one counter for all that name it', async () => {
    @Controller()
    class Account {
      @Get('login') @Limit('login') login() {}
      @Get('token') @Limit('login') token() {}
      @Get('other') other() {}
    }
    const { request, statuses } = await start(platform, {
      options: { policies: { login: { limit: 2, ...minute } }, headers: 'draft-11' },
      controllers: [Account]
    })
    expect(await statuses('/login', '/token', '/login', '/token')).toEqual([200, 200, 429, 429])
    expect((await request('/login')).headers.get('ratelimit-policy')).toBe('"login";q=2;w=60')
    expect(await statuses('/other', '/other', '/other')).toEqual([200, 200, 200])
  })

  it('is known by the class, not by its name', async () => {
    const made = (path: string) => {
      @Controller(path)
      @Limit({ limit: 1, ...minute })
      class Reports {
        @Get() list() {}
        @Get('own') @Limit({ limit: 1, ...minute }) own() {}
      }
      return Reports
    }
    const { statuses } = await start(platform, { options: {}, controllers: [made('a'), made('b')] })
    expect(await statuses('/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429])
    expect(await statuses('/a/own', '/b/own', '/a/own', '/b/own')).toEqual([200, 200, 429, 429])
  })

  it('is inherited by controllers, each with counters of its own', async () => {
    @Limit({ limit: 2, ...minute })
    abstract class Base {
      @Get() list() {}
      @Get('one') @Limit({ limit: 1, ...minute }) one() {}
    }
    @Controller('cats')
    class Cats extends Base {}
    @Controller('dogs')
    class Dogs extends Base {}
    const { statuses } = await start(platform, { options: {}, controllers: [Cats, Dogs] })
    expect(await statuses('/cats', '/cats', '/dogs', '/cats', '/dogs', '/dogs')).toEqual([
      200, 200, 200, 429, 200, 429
    ])
    expect(await statuses('/cats/one', '/dogs/one', '/cats/one', '/dogs/one')).toEqual([200, 200, 429, 429])
  })

  it('is the same under a global prefix and versions (DEC-07)', async () => {
    @Controller({ path: 'pages', version: '1' })
    class First {
      @Get('free') @Limit.skip() free() {}
      @Get('one') @Limit({ limit: 1, ...minute }) one() {}
    }
    @Controller({ path: 'pages', version: '2' })
    class Second extends First {}
    const { statuses } = await start(platform, {
      options: { limit: 1, ...minute },
      controllers: [First, Second],
      set(app) {
        app.setGlobalPrefix('api')
        app.enableVersioning({ type: VersioningType.URI })
      }
    })
    expect(await statuses(...times(3, '/api/v1/pages/free'))).toEqual([200, 200, 200])
    expect(await statuses('/api/v1/pages/one', '/api/v1/pages/one', '/api/v2/pages/one')).toEqual([
      200, 429, 200
    ])
    expect(await statuses('/api/nope', '/api/nope')).toEqual([404, 429])
  })

  it('is one counter for all methods of `@All`, and for HEAD with GET', async () => {
    @Controller()
    class Pages {
      @All('all') @Limit({ limit: 2, ...minute }) all() {}
      @Get('page') @Limit({ limit: 2, ...minute }) page() {}
    }
    const { request } = await start(platform, { options: {}, controllers: [Pages] })
    const seen: number[] = []
    for (const method of ['GET', 'POST', 'PUT']) seen.push((await request('/all', {}, method)).status)
    for (const method of ['GET', 'HEAD', 'GET']) seen.push((await request('/page', {}, method)).status)
    expect(seen).toEqual([200, 200, 429, 200, 200, 429])
  })

  it('holds for parameters, queries and controllers of modules beside it', async () => {
    @Controller('verify')
    class Codes {
      @Get(':code') @Limit({ limit: 2, ...minute }) verify() {}
    }
    @Module({ controllers: [Codes] })
    class CodesModule {}
    const { statuses } = await start(platform, { options: {}, imports: [CodesModule] })
    expect(await statuses('/verify/a', '/verify/b?x=1', '/verify/c')).toEqual([200, 200, 429])
  })
})
