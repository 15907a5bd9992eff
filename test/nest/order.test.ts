import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  UnauthorizedException,
  UseGuards
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { describe, expect, it } from 'vitest'
import { Limit, limitGuard, RateLimitGuard } from '../../src/nest/index.js'
import { nestApps, platforms } from './app.js'

const minute = { window: '1m' } as const

/** Names the user of a header, as an authentication that asks a database would. */
class Authentication implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest()
    const user = await Promise.resolve(request.headers['x-user'])
    if (user === 'intruder') throw new UnauthorizedException()
    request.user = { id: user ?? 'anybody' }
    return true
  }
}

describe.each(platforms)('on %s, the order', (platform) => {
  const start = nestApps()
  const by = (user: string) => ({ 'x-user': user })

  it('has limits before guards, so that failed authentication counts (NST-08)', async () => {
    @Controller()
    @UseGuards(Authentication)
    class Pages {
      @Get() page() {}
    }
    const { request } = await start(platform, { options: { limit: 3, ...minute }, controllers: [Pages] })
    const seen: number[] = []
    for (let i = 0; i < 5; i++) seen.push((await request('/', by('intruder'))).status)
    expect(seen).toEqual([401, 401, 401, 429, 429])
  })

  it('asks `skip`, and every other function of the options, once for a request', async () => {
    const asked: string[] = []
    const ask =
      <T>(what: string, answer: T) =>
      () => {
        asked.push(what)
        return answer
      }
    const guard = limitGuard({ limit: 5, ...minute, skip: ask('skip', true) })
    @Controller()
    @Limit({ limit: 5, ...minute })
    class Pages {
      @Get('class') byClass() {}
      @Get('method') @Limit({ limit: 5 }) byMethod() {}
      @Get('late') @Limit({ limit: 5, stage: 'interceptor' }) late() {}
      @Get('async') @Limit({ skip: async () => ask('skip', true)() }) async() {}
      @Get('policy') @Limit('login') policy() {}
      @Get('guards') @UseGuards(RateLimitGuard, guard, RateLimitGuard, guard) guards() {}
      @Get('not') @Limit({ skip: ask('skip', false), key: ask('key', 'k'), cost: ask('cost', 1) }) not() {}
    }
    const { statuses } = await start(platform, {
      options: {
        limit: 5,
        ...minute,
        skip: ask('skip', true),
        policies: { login: { limit: 5, ...minute } }
      },
      controllers: [Pages]
    })
    const askedFor = async (path: string) => {
      asked.length = 0
      expect(await statuses(path)).toEqual([path === '/nope' ? 404 : 200])
      return asked.join()
    }
    for (const path of ['class', 'method', 'late', 'async', 'policy', 'nope'])
      expect([path, await askedFor(`/${path}`)]).toEqual([path, 'skip'])
    // A limit of the module and one of the guard.
    expect(await askedFor('/guards')).toBe('skip,skip')
    expect(await askedFor('/not')).toBe('skip,key,cost')
  })

  it('has limits before guards of the application too, whatever the order of modules', async () => {
    @Controller()
    class Pages {
      @Get() page() {}
    }
    const { request } = await start(platform, {
      options: { limit: 1, ...minute },
      controllers: [Pages],
      providers: [{ provide: APP_GUARD, useClass: Authentication }]
    })
    const seen = [await request('/', by('intruder')), await request('/', by('intruder'))]
    expect(seen.map(({ status }) => status)).toEqual([401, 429])
  })

  it.each([
    ['of the class', [Authentication], [], []],
    ['of the method, above @Limit', [], [Authentication], []],
    ['of the method, below @Limit', [], [], [Authentication]]
  ] as const)('has limits by user after guards %s', async (_where, ofClass, above, below) => {
    @Controller()
    @UseGuards(...ofClass)
    class Pages {
      @Get()
      @UseGuards(...above)
      @Limit('user', 1, '1m')
      @UseGuards(...below)
      page() {}
    }
    const { request } = await start(platform, { options: {}, controllers: [Pages] })
    const seen: number[] = []
    for (const user of ['ada', 'ada', 'bob', 'bob']) seen.push((await request('/', by(user))).status)
    expect(seen).toEqual([200, 429, 200, 429])
  })

  it('has the module’s limit by user after guards of the application', async () => {
    @Controller()
    class Pages {
      @Get() page() {}
      @Get('other') other() {}
    }
    const { request } = await start(platform, {
      options: { limit: 1, ...minute, key: ['user', 'ip'] },
      controllers: [Pages],
      providers: [{ provide: APP_GUARD, useClass: Authentication }]
    })
    const seen: number[] = []
    for (const path of ['/', '/other']) seen.push((await request(path, by('ada'))).status)
    seen.push((await request('/', by('bob'))).status, (await request('/', by('intruder'))).status)
    expect(seen).toEqual([200, 429, 200, 401])
  })

  it('is what `stage` says, for functions that read the user and for limits that may come before', async () => {
    @Controller()
    @UseGuards(Authentication)
    class Pages {
      @Get()
      @Limit({ limit: 1, ...minute, stage: 'interceptor', key: ({ user }) => (user as { id: string }).id })
      late() {}
      @Get('early')
      @Limit({ limit: 1, ...minute, stage: 'guard', key: ({ user }) => String(user) })
      early() {}
    }
    const { request } = await start(platform, { options: {}, controllers: [Pages] })
    const seen: number[] = []
    for (const path of ['/', '/early'])
      for (const user of ['ada', 'bob', 'bob']) seen.push((await request(path, by(user))).status)
    expect(seen).toEqual([200, 200, 429, 200, 429, 429])
  })

  it('has a guard’s own limit where the guard stands', async () => {
    const login = limitGuard({ limit: 1, ...minute, key: 'user', now: () => 0 })
    @Controller()
    class Pages {
      @Get() @UseGuards(Authentication, login) page() {}
      @Get('other') @UseGuards(login) other() {}
    }
    const { request, statuses } = await start(platform, { controllers: [Pages] })
    const seen: number[] = []
    for (const user of ['ada', 'ada', 'bob']) seen.push((await request('/', by(user))).status)
    expect(seen).toEqual([200, 429, 200])
    expect(await statuses('/other', '/other')).toEqual([200, 429])
  })

  it('counts a request once that meets its limit as a global guard and on its handler (NST-01)', async () => {
    @Controller()
    @UseGuards(RateLimitGuard)
    class Pages {
      @Get() @UseGuards(RateLimitGuard) page() {}
    }
    const { statuses } = await start(platform, { options: { limit: 2, ...minute }, controllers: [Pages] })
    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429])
  })

  it('leaves all but chosen handlers alone where the module is not global', async () => {
    @Controller()
    class Pages {
      @Get('free') free() {}
      @Get('marked') @Limit({ limit: 1 }) marked() {}
      @Get('user') @Limit({ limit: 1, key: 'user' }) user() {}
      @Get('chosen') @UseGuards(RateLimitGuard) chosen() {}
    }
    const { statuses } = await start(platform, {
      options: { limit: 2, ...minute, global: false },
      controllers: [Pages]
    })
    expect(await statuses('/free', '/free', '/free', '/nope', '/nope', '/nope')).toEqual([
      200, 200, 200, 404, 404, 404
    ])
    expect(await statuses('/marked', '/marked', '/user', '/user')).toEqual([200, 429, 200, 429])
    expect(await statuses('/chosen', '/chosen', '/chosen')).toEqual([200, 200, 429])
  })

  it('has a chosen guard decide by user where it stands', async () => {
    @Controller()
    class Pages {
      @Get() @UseGuards(Authentication, RateLimitGuard) page() {}
    }
    const { request } = await start(platform, {
      options: { limit: 1, ...minute, global: false, key: 'user' },
      controllers: [Pages]
    })
    const seen: number[] = []
    for (const user of ['ada', 'ada', 'bob']) seen.push((await request('/', by(user))).status)
    expect(seen).toEqual([200, 429, 200])
  })
})
