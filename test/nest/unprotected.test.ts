import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  RequestMethod,
  Scope,
  UseGuards
} from '@nestjs/common'
import { ExternalContextCreator, REQUEST } from '@nestjs/core'
import { MessagePattern } from '@nestjs/microservices'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { describe, expect, it } from 'vitest'
import { limitsOf, Limit as PlainLimit } from '../../src/index.js'
import { Limit, limitGuard, RateLimitException, RateLimitModule } from '../../src/nest/index.js'
import { create, nestApps, platforms, times } from './app.js'

const one = { limit: 1, window: '1m', now: () => 0 } as const

/** Puts another constructor in the place of a class. */
function replaced(target: new () => object) {
  function Other() {
    return Reflect.construct(target, [], target)
  }
  Other.prototype = target.prototype
  return Other as never
}

@Controller()
class Pages {
  @Get() page() {}
}

/** What a start fails with. */
const failure = (spec: Parameters<typeof create>[1]) =>
  create('express', spec)
    .then((app) => app.init())
    .then(
      () => undefined,
      ({ code, message }) => ({ code, message })
    )

describe('what would leave handlers unprotected', () => {
  it.each([
    ['a limit that a configuration lacks', { limit: undefined, window: undefined }],
    [
      'options that are getters of a class',
      new (class {
        get limit() {
          return 1
        }
        get window() {
          return '1m'
        }
      })()
    ]
  ])('fails the start: %s', async (_what, options) => {
    expect(await failure({ imports: [RateLimitModule.forRoot(options as never)] })).toEqual({
      code: 'HEADGATE_BAD_OPTION',
      message: expect.stringContaining('`limit` is undefined')
    })
  })

  it('fails the start: options that are made for each request', async () => {
    @Module({
      providers: [{ provide: 'TENANT', scope: Scope.REQUEST, useFactory: () => 1, inject: [REQUEST] }],
      exports: ['TENANT']
    })
    class Tenants {}
    const imports = [
      RateLimitModule.forRootAsync({ imports: [Tenants], inject: ['TENANT'], useFactory: () => one })
    ]
    expect(await failure({ imports, controllers: [Pages] })).toMatchObject({ code: 'HEADGATE_MISUSE' })
  })

  it('fails the start: a mark without the module', async () => {
    @Controller()
    class Marked {
      @Get() @Limit(one) page() {}
    }
    expect(await failure({ controllers: [Marked] })).toEqual({
      code: 'HEADGATE_MISUSE',
      message: expect.stringContaining('RateLimitModule.forRoot')
    })
  })

  it.each([
    [
      'a method of a controller',
      () => {
        @Controller()
        class Marked {
          @Get() @PlainLimit(one) page() {}
        }
        return { controllers: [Marked] }
      }
    ],
    [
      'a controller',
      () => {
        @PlainLimit(one)
        @Controller()
        class Marked {
          @Get() page() {}
        }
        return { controllers: [Marked] }
      }
    ],
    [
      'a controller that another decorator has replaced',
      () => {
        @Controller()
        @replaced
        @PlainLimit(one)
        class Marked {
          @Get() page() {}
        }
        return { controllers: [Marked] }
      }
    ],
    [
      'a gateway',
      () => {
        @WebSocketGateway()
        class Marked {
          @SubscribeMessage('say') @PlainLimit(one) say() {}
        }
        return { providers: [Marked] }
      }
    ],
    [
      'a handler of messages',
      () => {
        @Controller()
        class Marked {
          @PlainLimit(one) @MessagePattern('sum') sum() {}
        }
        return { controllers: [Marked] }
      }
    ]
  ])('fails the start: the mark of plain classes without the module, on %s', async (_what, spec) => {
    expect(await failure(spec())).toEqual({
      code: 'HEADGATE_MISUSE',
      message: expect.stringMatching(/handlers of Marked.*import `Limit` from `headgate\/nest`/)
    })
  })

  it('the mark of plain classes is no concern of Nest where something else reads it', async () => {
    @Injectable()
    class Jobs {
      @PlainLimit(one) work() {}
    }
    @Controller()
    class Own {
      @Get() @PlainLimit(one) page() {}
    }
    limitsOf(Own)
    expect(await failure({ controllers: [Own], providers: [Jobs] })).toBeUndefined()
  })

  it('fails the start: a method that is skipped and limited', async () => {
    @Controller()
    class Both {
      @Get() @Limit.skip() @Limit(one) page() {}
    }
    expect(await failure({ options: one, controllers: [Both] })).toMatchObject({ code: 'HEADGATE_MISUSE' })
  })

  it('fails the start: a policy with the name of the module’s own limit', async () => {
    const options = { ...one, policies: { default: one } }
    expect(await failure({ options })).toMatchObject({ code: 'HEADGATE_BAD_OPTION' })
  })

  it('is warned of: marks on methods that are no handlers', async () => {
    @WebSocketGateway()
    class Chat {
      @Limit(one) handleConnection() {}
      @SubscribeMessage('say') @Limit(one) say() {}
    }
    const heard: string[] = []
    const hear = ({ message }: Error) => heard.push(message)
    process.on('warning', hear)
    const app = await create('express', { options: one, providers: [Chat] })
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    await app.close()
    expect(heard.map((message) => /stands on ([\w.]+)/.exec(message)?.[1])).toEqual(['Chat.handleConnection'])
  })
})

describe.each(platforms)('on %s', (platform) => {
  const start = nestApps()

  it('a method that the constructor binds keeps its limit, also in request scope', async () => {
    @Controller({ path: 'bound', scope: Scope.REQUEST })
    class Bound {
      constructor() {
        this.page = this.page.bind(this)
      }
      @Get() @Limit({ limit: 2 }) page() {}
    }
    const { statuses } = await start(platform, { options: { ...one, limit: 9 }, controllers: [Bound] })
    expect(await statuses(...times(3, '/bound'))).toEqual([200, 200, 429])
  })

  it('a class keeps its limit where a decorator puts another constructor in its place', async () => {
    @Controller()
    @replaced
    @Limit({ limit: 1 })
    class Replaced {
      @Get() page() {}
    }
    const { statuses } = await start(platform, { options: { ...one, limit: 9 }, controllers: [Replaced] })
    expect(await statuses('/', '/')).toEqual([200, 429])
  })

  it('unknown paths are limited outside of the global prefix too', async () => {
    @Controller()
    class Hello {
      @Get('hello') hello() {}
    }
    const { statuses, request } = await start(platform, {
      options: { ...one, limit: 3 },
      controllers: [Hello],
      set: (app) => app.setGlobalPrefix('api', { exclude: [{ path: 'hello', method: RequestMethod.GET }] })
    })
    expect(await statuses('/nope', '/api/nope', '/hello', '/nope', '/api/nope', '/')).toEqual([
      404, 404, 200, 429, 429, 429
    ])
    expect((await request('/nope')).headers.get('retry-after')).toBe('60')
  })

  it('calls that are no requests are not charged to anybody, nor do they fail', async () => {
    @Injectable()
    class Consumer {
      consume(text: unknown) {
        return text
      }
    }
    const { app, statuses } = await start(platform, {
      options: one,
      controllers: [Pages],
      providers: [Consumer]
    })
    const consumer = app.get(Consumer)
    const creator = app.get(ExternalContextCreator)
    const given = [
      ['job'],
      [{}, {}],
      [{ headers: {} }, {}],
      [{ headers: {} }, null],
      [null, { setHeader() {} }]
    ]
    for (const type of ['queue', 'http', undefined]) {
      // Without a type a context has that of HTTP.
      const options = [undefined, undefined, undefined, undefined, undefined, type] as const
      const call = creator.create(consumer, consumer.consume, 'consume', ...options)
      for (const [first, ...more] of given)
        for (let i = 0; i < 3; i++) expect(await call(first, ...more)).toBe(first)
    }
    expect(await statuses('/', '/')).toEqual([200, 429])
  })

  it('calls that are no requests pass a global guard, and are limited by one on their handler', async () => {
    const guard = limitGuard(one)
    @Injectable()
    class Consumer {
      consume(job: unknown) {
        return job
      }
      @UseGuards(guard) guarded(job: unknown) {
        return job
      }
    }
    const { app, statuses } = await start(platform, {
      controllers: [Pages],
      providers: [Consumer],
      set: (made) => made.useGlobalGuards(guard)
    })
    const consumer = app.get(Consumer)
    const creator = app.get(ExternalContextCreator)
    const call = creator.create(consumer, consumer.consume, 'consume')
    for (let i = 0; i < 3; i++) expect(await call({}, {})).toEqual({})
    const guarded = creator.create(consumer, consumer.guarded, 'guarded')
    expect(await guarded('job')).toBe('job')
    await expect(guarded('job')).rejects.toBeInstanceOf(RateLimitException)
    expect(await statuses('/', '/')).toEqual([200, 429])
  })

  it('calls that are no requests fail where `@Limit` stands on them and denies', async () => {
    @Injectable()
    class Consumer {
      @Limit(one) consume(job: unknown) {
        return job
      }
    }
    const { app } = await start(platform, { options: one, providers: [Consumer] })
    const consumer = app.get(Consumer)
    const call = app.get(ExternalContextCreator).create(consumer, consumer.consume, 'consume')
    expect(await call({}, {})).toEqual({})
    await expect(call({}, {})).rejects.toBeInstanceOf(RateLimitException)
  })

  it('the answer of `onLimited` is not answered again by a filter', async () => {
    const seen: unknown[] = []
    const { request } = await start(platform, {
      options: {
        ...one,
        onLimited: (_request, response) => void (response as { send(text: string): void }).send('mine')
      },
      controllers: [Pages],
      set: (app) => app.useGlobalFilters({ catch: (error: unknown) => seen.push(error) })
    })
    await request('/')
    expect(await request('/')).toMatchObject({ status: 429, body: 'mine' })
    expect(seen).toEqual([])
  })

  it('a denial after the guards has a type of its own, not the one of the handler’s body', async () => {
    @Controller()
    class Table {
      @Get() @Header('Content-Type', 'text/csv') @Limit('user', 1, '1m') table() {
        return 'a,b'
      }
    }
    const { request } = await start(platform, { options: { now: () => 0 }, controllers: [Table] })
    expect((await request('/')).headers.get('content-type')).toMatch(/^text\/csv/)
    expect((await request('/')).headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  it('interceptors see the decision, and its headers are set', async () => {
    const seen: unknown[] = []
    @Injectable()
    class Watching implements NestInterceptor {
      constructor(@Inject('seen') readonly seen: unknown[]) {}
      intercept(context: ExecutionContext, next: CallHandler) {
        this.seen.push(context.switchToHttp().getRequest().rateLimit.remaining)
        return next.handle()
      }
    }
    const { statuses } = await start(platform, {
      options: one,
      controllers: [Pages],
      set: (app) => app.useGlobalInterceptors(new Watching(seen))
    })
    expect(await statuses('/')).toEqual([200])
    expect(seen).toEqual([0])
  })
})
