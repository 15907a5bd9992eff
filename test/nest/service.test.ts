import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  UseGuards
} from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import type { Who } from '../../src/http/known.js'
import { Limit, type LimitTarget, RateLimitService } from '../../src/nest/index.js'
import { nestApps, platforms } from './app.js'

describe('the service', () => {
  const start = nestApps()

  @Controller()
  class Account {
    readonly limits: RateLimitService

    constructor(@Inject(RateLimitService) limits: RateLimitService) {
      this.limits = limits
    }

    @Get('login') @Limit('login') login() {}
    @Get() page() {}
  }

  const key = 'header:x-account'
  const options = {
    limit: 3,
    window: '1m',
    policies: { login: { limit: 2, window: '1h', key }, computed: { limit: () => 5, window: '1m' } }
  } as const

  async function running() {
    const { app, request } = await start('express', { options, controllers: [Account] })
    const login = async () => (await request('/login', { 'x-account': 'ada' })).status
    return { limits: app.get(Account).limits, login, request }
  }

  it('consumes, peeks and refunds what requests are charged to', async () => {
    const { limits, login } = await running()
    expect(await login()).toBe(200)
    expect(await limits.peek('login', 'ada')).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
    expect(await limits.consume('login', 'ada')).toMatchObject({ allowed: true, remaining: 0 })
    expect(await login()).toBe(429)
    await limits.refund('login', 'ada')
    expect(await login()).toBe(200)
    expect(await limits.consume('login', 'ada', 2)).toMatchObject({ allowed: false })
  })

  it('resets and blocks', async () => {
    const { limits, login } = await running()
    expect([await login(), await login(), await login()]).toEqual([200, 200, 429])
    await limits.reset('login', 'ada')
    expect(await login()).toBe(200)
    await limits.block('login', 'ada', '10m')
    expect(await login()).toBe(429)
    await limits.reset('login', 'ada')
    expect(await login()).toBe(200)
  })

  it('penalises, rewards, and lists who is banned', async () => {
    const { limits, login } = await running()
    expect(await limits.penalty('login', 'ada', 2)).toMatchObject({ allowed: false, remaining: 0 })
    expect(await login()).toBe(429)
    expect(await limits.reward('login', 'ada', 1)).toMatchObject({ allowed: true, remaining: 1 })
    expect(await login()).toBe(200)
    expect(await limits.bans('login')).toEqual({ bans: [], next: null })
    await limits.block('login', 'ada', Number.POSITIVE_INFINITY)
    expect(await limits.bans('login', { limit: 5 })).toEqual({
      bans: [{ key: 'ada', remainingMs: Number.POSITIVE_INFINITY }],
      next: null
    })
  })

  it('clears one limit, or all', async () => {
    const { limits, login, request } = await running()
    const page = async () => (await request('/')).status
    const tries = async () => [await login(), await login(), await login(), await page(), await page()]
    expect(await tries()).toEqual([200, 200, 429, 200, 200])
    await limits.clear('login')
    expect(await tries()).toEqual([200, 200, 429, 200, 429])
    await limits.block('default', { ip: '203.0.113.1' }, '1h')
    await limits.clear()
    expect(await tries()).toEqual([200, 200, 429, 200, 200])
    expect(await limits.reset('default', { ip: '203.0.113.1' })).toBe(false)
  })

  it('has the module’s own limit as `default`', async () => {
    const { limits, request } = await running()
    await request('/')
    expect(await limits.peek('default', '127.0.0.1')).toMatchObject({ limit: 3, remaining: 2 })
  })

  it('refuses names that are unknown, and what is not limited', async () => {
    const { limits } = await running()
    expect(() => limits.peek('logni', 'ada')).toThrow(/did you mean 'login'/)
    expect(() => limits.peek([Account, 'logout'], 'ada')).toThrow(/Account has no method "logout"/)
    expect(() => limits.peek(Account, 'ada')).toThrow(/no limit that its methods share/)
    expect(() => limits.peek(() => 1, 'ada')).toThrow(/no method of a class/)
    expect(() => limits.peek(undefined as never, 'ada')).toThrow(/names no limit/)
  })

  it('works with a policy that is computed', async () => {
    const { limits } = await running()
    expect(() => limits.peek('computed', { ip: '192.0.2.1' })).toThrow(/give the request/)
    await limits.block('computed', { ip: '192.0.2.1' }, '1h')
    expect(await limits.reset('computed', { ip: '192.0.2.1' })).toBe(true)
    expect(await limits.reset('computed', { ip: '192.0.2.1' })).toBe(false)
  })
})

describe.each(platforms)('on %s, the service reaches every limit', (platform) => {
  const start = nestApps()
  const two = { limit: 2, window: '1h' } as const

  @Injectable()
  class ByKey implements CanActivate {
    canActivate(context: ExecutionContext) {
      const request = context.switchToHttp().getRequest()
      request.user = request.headers['x-user']
      return true
    }
  }

  @Controller('shared')
  @Limit({ ...two, key: ['header:x-api-key', 'ip'] })
  class Shared {
    @Get('list') list() {}
    @Get('own') @Limit({ limit: 3, key: 'header:x-api-key' }) own() {}
    @Get('named') @Limit('login') named() {}
    @Get('computed') @Limit({ limit: () => 2, window: () => '1h', key: 'header:x-api-key' }) computed() {}
    @Get('skipped') @Limit.skip() skipped() {}
  }

  @Controller('apart')
  @Limit({ ...two, scope: 'handler' })
  class Apart {
    @Get('a') a() {}
    @Get('b') b() {}
  }

  @Controller('users')
  @UseGuards(ByKey)
  class Users {
    @Get() @Limit({ ...two, key: 'user' }) own() {}
    @Get('plain') plain() {}
  }

  const running = (options: object = two) =>
    start(platform, {
      options: { policies: { login: { ...two, key: 'header:x-api-key' } }, ...options } as never,
      controllers: [Shared, Apart, Users],
      providers: [ByKey]
    })
  const ip = '127.0.0.1'

  const reached: readonly (readonly [string, string, LimitTarget, Who, Record<string, string>?])[] = [
    ['a class', '/shared/list', Shared, ['k', ip]],
    ['a class, of a request without the header', '/shared/list', Shared, { ip }, {}],
    ['a method by its class', '/shared/list', [Shared, 'list'], ['k', { ip }]],
    ['a method’s own', '/shared/own', [Shared, 'own'], { header: 'k' }],
    ['a method’s own, by its function', '/shared/own', Shared.prototype.own, 'k'],
    ['a method’s own, of a request without the header', '/shared/own', [Shared, 'own'], { ip }, {}],
    ['a policy by a handler', '/shared/named', [Shared, 'named'], 'k'],
    ['a policy', '/shared/named', 'login', { header: 'k' }],
    ['computed limits and windows', '/shared/computed', [Shared, 'computed'], { header: 'k' }],
    ['each handler of a class', '/apart/b', [Apart, 'b'], { ip }],
    ['a limit by user', '/users', [Users, 'own'], { user: 'ada' }],
    ['a limit by user, of nobody', '/users', [Users, 'own'], { ip }, {}],
    ['the module’s', '/users/plain', 'default', { ip }],
    ['the module’s, by a handler', '/users/plain', [Users, 'plain'], { ip }]
  ]
  it.each(reached.map(([what, ...rest]) => [what, rest] as const))(
    '%s',
    async (_what, [path, target, who, headers]) => {
      const sent = headers ?? { 'x-api-key': 'k', 'x-user': 'ada' }
      const { app, request } = await running()
      const limits = app.get(RateLimitService)
      const status = async () => (await request(path, sent)).status
      expect(await limits.reset(target, who)).toBe(false)
      expect(await status()).toBe(200)
      expect(await limits.peek(target, who)).toMatchObject({ allowed: true })
      expect((await limits.peek(target, who)).remaining).toBeLessThan(3)
      expect(await limits.refund(target, who)).toBe(true)
      expect(await limits.refund(target, who)).toBe(false)
      await limits.block(target, who, '1h')
      expect(await status()).toBe(429)
      expect([await limits.reset(target, who), await limits.reset(target, who)]).toEqual([true, false])
      expect(await status()).toBe(200)
    }
  )

  it('the module’s with a counter for each handler: all of them, or one', async () => {
    const { app, statuses } = await running({ ...two, scope: 'handler' })
    const limits = app.get(RateLimitService)
    expect(await statuses('/users/plain', '/users/plain', '/users/plain', '/nope')).toEqual([
      200, 200, 429, 404
    ])
    expect(await limits.peek([Users, 'plain'], { ip })).toMatchObject({ remaining: 0 })
    expect(() => limits.peek('default', { ip })).toThrow(/name one/)
    expect(() => limits.peek(Apart, { ip })).toThrow(/each method/)
    expect([await limits.reset('default', { ip }), await limits.reset('default', { ip })]).toEqual([
      true,
      false
    ])
    await limits.block('default', { ip }, '1h')
    expect(await statuses('/users/plain', '/nope')).toEqual([429, 429])
    expect(() => limits.peek([Shared, 'skipped'], { ip })).toThrow(/is not limited/)
  })
})
