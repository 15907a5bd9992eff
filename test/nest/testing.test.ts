import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  UseGuards
} from '@nestjs/common'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Test, type TestingModuleBuilder } from '@nestjs/testing'
import { afterEach, describe, expect, it } from 'vitest'
import {
  Limit,
  RATE_LIMIT_OPTIONS,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitService
} from '../../src/nest/index.js'
import { platforms } from './app.js'

const one = { limit: 1, window: '1m', now: () => 0 } as const

@Injectable()
class Login implements CanActivate {
  canActivate(context: ExecutionContext) {
    context.switchToHttp().getRequest().user = 'ada'
    return true
  }
}

@Controller()
@UseGuards(Login)
class Pages {
  @Get('plain') plain() {}
  @Get('marked') @Limit({ ...one, key: 'header:x-key' }) marked() {}
  @Get('user') @Limit({ ...one, key: 'user' }) user() {}
}

@Controller()
class Plain {
  @Get('plain') plain() {}
}

describe.each(platforms)('on %s, in a testing module', (platform) => {
  const running: INestApplication[] = []
  afterEach(async () => {
    for (const app of running.splice(0)) await app.close()
  })

  async function start(
    change: (builder: TestingModuleBuilder) => TestingModuleBuilder,
    {
      options = one as RateLimitModuleOptions,
      controllers = [Pages] as (typeof Pages | typeof Plain)[],
      isLate = false
    } = {}
  ) {
    const module = isLate
      ? RateLimitModule.forRootAsync({ useFactory: async () => options })
      : RateLimitModule.forRoot(options)
    const testing = Test.createTestingModule({ imports: [module], controllers })
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()
    const app = (await change(testing).compile()).createNestApplication(adapter, { logger: false })
    running.push(app)
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address() as { port: number }
    const statuses = async (...paths: string[]) => {
      const seen: number[] = []
      for (const path of paths) seen.push((await fetch(`http://127.0.0.1:${port}/${path}`)).status)
      return seen
    }
    return { app, statuses }
  }

  const all = ['plain', 'plain', 'marked', 'marked', 'user', 'user', 'nope', 'nope']
  const unlimited = [200, 200, 200, 200, 200, 200, 404, 404]

  it('nothing is overridden by itself', async () => {
    const { statuses } = await start((builder) => builder)
    expect(await statuses(...all)).toEqual([200, 429, 200, 429, 200, 429, 429, 429])
  })

  it.each([
    [
      'overrideGuard',
      (builder: TestingModuleBuilder, value: CanActivate) =>
        builder.overrideGuard(RateLimitGuard).useValue(value)
    ],
    [
      'overrideProvider',
      (builder: TestingModuleBuilder, value: CanActivate) =>
        builder.overrideProvider(RateLimitGuard).useValue(value)
    ]
  ] as const)('%s of the guard switches off all limits', async (_what, override) => {
    for (const isLate of [false, true])
      for (const options of [one, { ...one, scope: 'handler' as const }, { ...one, key: 'user' as const }]) {
        const { statuses } = await start((builder) => override(builder, { canActivate: () => true }), {
          options,
          isLate
        })
        expect(await statuses(...all)).toEqual(unlimited)
      }
  })

  it('overrideGuard switches them off where no handler has a limit of its own', async () => {
    const { statuses } = await start(
      (builder) => builder.overrideGuard(RateLimitGuard).useValue({ canActivate: () => true }),
      { controllers: [Plain] }
    )
    expect(await statuses('plain', 'plain', 'nope')).toEqual([200, 200, 404])
  })

  it('what stands in the place of the guard decides', async () => {
    const seen: string[] = []
    @Injectable()
    class Denying implements CanActivate {
      async canActivate(context: ExecutionContext) {
        seen.push(context.getHandler().name)
        return context.getHandler().name !== 'plain'
      }
    }
    const { statuses } = await start((builder) => builder.overrideGuard(RateLimitGuard).useClass(Denying))
    expect(await statuses(...all)).toEqual([403, 403, 200, 200, 200, 200, 404, 404])
    expect(new Set(seen)).toEqual(new Set(['plain', 'marked', 'user']))
  })

  it('a guard that extends ours limits as it does, but for what it lets pass', async () => {
    class Partly extends RateLimitGuard {
      override canActivate(context: ExecutionContext) {
        return context.getHandler().name === 'plain' || super.canActivate(context)
      }
    }
    const { statuses } = await start((builder) => builder.overrideGuard(RateLimitGuard).useClass(Partly))
    expect(await statuses('plain', 'plain', 'marked', 'marked', 'user', 'user')).toEqual([
      200, 200, 200, 429, 200, 429
    ])
  })

  it.each([false, true])('the options are overridden by their token (made later: %s)', async (isLate) => {
    const { statuses } = await start(
      (builder) => builder.overrideProvider(RATE_LIMIT_OPTIONS).useValue({ ...one, limit: 2 }),
      { isLate }
    )
    expect(await statuses('plain', 'plain', 'plain')).toEqual([200, 200, 429])
  })

  it('the service is overridden as any provider', async () => {
    const service = { peek: () => 'mine' }
    const { app } = await start((builder) => builder.overrideProvider(RateLimitService).useValue(service))
    expect(app.get(RateLimitService)).toBe(service)
  })
})
