import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { describe, expect, it } from 'vitest'
import { memoryStore, Limit as PlainLimit } from '../../src/index.js'
import { Limit, limitGuard, RateLimitModule, type RateLimitModuleOptions } from '../../src/nest/index.js'
import { unhandledDuring } from '../http/behaviour/harness.js'
import { create, nestApps, platforms } from './app.js'

const one = { limit: 1, window: '1m', now: () => 0 } as const

@Controller()
class Pages {
  @Get() page() {}
}

/** What a configuration service is, as far as it matters. */
@Injectable()
class Settings {
  readonly limit = 1
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class LimitFactory {
  readonly #settings: Settings

  constructor(@Inject(Settings) settings: Settings) {
    this.#settings = settings
  }

  createRateLimitOptions(): RateLimitModuleOptions {
    return { ...one, limit: this.#settings.limit }
  }
}

@Module({ imports: [SettingsModule], providers: [LimitFactory], exports: [LimitFactory] })
class FactoryModule {}

describe.each(platforms)('on %s, the module', (platform) => {
  const start = nestApps()

  it.each([
    [
      'a function',
      {
        imports: [SettingsModule],
        inject: [Settings],
        useFactory: async ({ limit }: Settings) => ({ ...one, limit })
      }
    ],
    ['a class', { imports: [SettingsModule], useClass: LimitFactory }],
    ['an existing provider', { imports: [FactoryModule], useExisting: LimitFactory }]
  ])('takes its options later, from %s', async (_from, options) => {
    const { statuses } = await start(platform, {
      imports: [RateLimitModule.forRootAsync(options as never)],
      controllers: [Pages]
    })
    expect(await statuses('/', '/', '/nope')).toEqual([200, 429, 429])
  })

  it('limits controllers of request scope', async () => {
    let made = 0
    @Controller({ scope: Scope.REQUEST })
    class Scoped {
      constructor() {
        made++
      }
      @Get() @Limit({ limit: 2 }) page() {}
    }
    const { statuses } = await start(platform, { options: one, controllers: [Scoped] })
    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429])
    expect(made).toBe(3)
  })

  it('closes stores that can be closed, once, after the server has closed', async () => {
    const order: string[] = []
    const store = Object.assign(memoryStore(), { close: () => void order.push('store') })
    const { app, statuses } = await start(platform, {
      options: { ...one, store, policies: { login: { limit: 5, window: '1m' } } },
      controllers: [Pages]
    })
    app.getHttpServer().on('close', () => order.push('server'))
    expect(await statuses('/', '/')).toEqual([200, 429])
    await app.close()
    expect(order).toEqual(['server', 'store'])
  })

  it('counts requests that come at once exactly (CON-01)', async () => {
    const { request } = await start(platform, { options: { ...one, limit: 5 }, controllers: [Pages] })
    const seen = await Promise.all(Array.from({ length: 50 }, () => request('/')))
    const admitted = seen.filter(({ status }) => status === 200)
    const left = admitted.map(({ headers }) => Number(headers.get('ratelimit-remaining')))
    expect(left.sort()).toEqual([0, 1, 2, 3, 4])
  })

  it('lets errors of options’ functions reach Nest’s filters, and nothing else', async () => {
    @Controller()
    class Failing {
      @Get('key')
      @Limit({
        ...one,
        key: () => {
          throw new Error('expected by a test')
        }
      })
      key() {}
      @Get('limit') @Limit({ ...one, limit: async () => Promise.reject(new Error('expected')) }) limit() {}
      @Get('zero') @Limit({ ...one, limit: () => 0 }) zero() {}
    }
    const { statuses } = await start(platform, { options: one, controllers: [Failing] })
    const unhandled = await unhandledDuring(async () => {
      expect(await statuses('/key', '/limit', '/zero')).toEqual([500, 500, 429])
    })
    expect(unhandled).toEqual([])
  })
})

describe('the module refuses', () => {
  const failing = (options: unknown, controllers: readonly never[] | readonly unknown[] = []) =>
    create('express', { options: options as never, controllers: controllers as never }).then(
      () => undefined,
      (error) => ({ code: error.code, message: error.message })
    )

  it.each([
    [{ limit: Number.NaN, window: '1m' }, 'HEADGATE_BAD_OPTION', '`limit` is NaN'],
    [{ limit: 1, window: 0 }, 'HEADGATE_BAD_OPTION', '`window` is 0'],
    [{ limit: 1, window: 'soon' }, 'HEADGATE_BAD_OPTION', '`window` is "soon"'],
    [{ limit: 1 }, 'HEADGATE_BAD_OPTION', '`window` is undefined'],
    [{ ttl: 1000, limit: 1 }, 'HEADGATE_UNKNOWN_OPTION', 'did you mean `window`'],
    [{ ...one, polices: {} }, 'HEADGATE_UNKNOWN_OPTION', 'did you mean `policies`'],
    [{ ...one, policies: { login: 5 } }, 'HEADGATE_BAD_OPTION', '`policies.login` is 5'],
    [{ ...one, policies: { login: { limit: 0 } } }, 'HEADGATE_BAD_OPTION', '`limit` is 0'],
    [{ ...one, stage: 'late' }, 'HEADGATE_BAD_OPTION', "give 'guard' or 'interceptor'"],
    [{ ...one, scope: 'route' }, 'HEADGATE_BAD_OPTION', "give 'shared' or 'handler'"],
    [{ ...one, global: 'yes' }, 'HEADGATE_BAD_OPTION', 'give true or false']
  ])('%j', async (options, code, message) => {
    expect(await failing(options)).toEqual({ code, message: expect.stringContaining(message) })
  })

  it('a limit of a handler that cannot work, before any request', async () => {
    const on = (...decorators: MethodDecorator[]) => {
      @Controller()
      class Wrong {
        page() {}
      }
      const descriptor = Object.getOwnPropertyDescriptor(Wrong.prototype, 'page')!
      for (const decorate of decorators) decorate(Wrong.prototype, 'page', descriptor)
      return failing({ policies: { login: one } }, [Wrong])
    }
    expect(await on(Limit({ limit: -1, window: '1m' }) as never)).toMatchObject({
      code: 'HEADGATE_BAD_OPTION'
    })
    expect(await on(Limit({ limit: 1 }) as never)).toMatchObject({
      message: expect.stringContaining('`window`')
    })
    expect(await on(Limit({ ...one, keys: 'ip' } as never) as never)).toMatchObject({
      code: 'HEADGATE_UNKNOWN_OPTION',
      message: expect.stringContaining('@Limit of Wrong.page')
    })
    expect(await on(Limit('logni') as never)).toEqual({
      code: 'HEADGATE_UNKNOWN_POLICY',
      message: "`@Limit` names the policy 'logni', which the module has not: did you mean 'login'?"
    })
    expect(await on(Limit('login') as never, Limit(one) as never)).toMatchObject({
      code: 'HEADGATE_BAD_OPTION'
    })
    expect(await on(Limit('user', 1, '1m') as never, Limit('ip', 9, '1h') as never)).toMatchObject({
      code: 'HEADGATE_BAD_OPTION',
      message: expect.stringContaining('`key` is "ip" in one and "user" in another')
    })
  })

  it('to be imported without options, or twice with different ones', async () => {
    await expect(create('express', { imports: [RateLimitModule] })).rejects.toThrow(/resolve dependencies/)
    const twice = create('express', {
      options: one,
      imports: [RateLimitModule.forRoot({ ...one, limit: 2 })]
    })
    await expect(twice).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
  })

  it('`@Limit` of plain classes where Nest would call no guard for it', async () => {
    @Controller()
    class Mixed {
      @Get() @PlainLimit(one) page() {}
    }
    expect(await failing({ ...one, global: false }, [Mixed])).toMatchObject({
      code: 'HEADGATE_MISUSE',
      message: expect.stringContaining('import it from `headgate/nest`')
    })
    expect(await failing(one, [Mixed])).toBeUndefined()
  })
})

describe('the module', () => {
  it('warns of a limit on a provider, for which Nest calls no guard', async () => {
    @Injectable()
    class Mailer {
      @Limit(one) send() {}
    }
    const heard: (string | undefined)[] = []
    const hear = ({ code }: Error & { code?: string }) => heard.push(code)
    process.on('warning', hear)
    const app = await create('express', { options: one, providers: [Mailer] })
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    await app.close()
    expect(heard).toEqual(['HEADGATE_UNREAD_LIMIT'])
  })

  it('works in modules of Nest’s testing package, each with counters of its own', async () => {
    for (let i = 0; i < 2; i++) {
      const testing = await Test.createTestingModule({
        imports: [RateLimitModule.forRoot(one)],
        controllers: [Pages]
      }).compile()
      const app = testing.createNestApplication()
      await app.listen(0, '127.0.0.1')
      const url = await app.getUrl()
      expect([(await fetch(url)).status, (await fetch(url)).status]).toEqual([200, 429])
      await app.close()
    }
  })

  it('is not needed by a guard with a limit of its own', async () => {
    const guard = limitGuard(one)
    expect(guard.limiter).toMatchObject({ policies: [{ limit: 1 }] })
    expect(() => limitGuard({ limit: 1 } as never)).toThrow(/`window`/)
  })
})
