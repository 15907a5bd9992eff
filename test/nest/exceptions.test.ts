import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  type NestInterceptor,
  UseFilters
} from '@nestjs/common'
import { APP_FILTER, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core'
import { describe, expect, it } from 'vitest'
import { Limit, limitGuard, RateLimitException } from '../../src/nest/index.js'
import { nestApps, platforms } from './app.js'

const one = { limit: 1, window: '1m' } as const

@Controller()
class Pages {
  @Get() page() {
    return 'ok'
  }
}

describe.each(platforms)('on %s, a denial', (platform) => {
  const start = nestApps()

  it('is answered in the form that the request accepts', async () => {
    const { request } = await start(platform, { options: one, controllers: [Pages] })
    const first = await request('/')
    expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([200, '0'])
    const text = await request('/', { accept: 'text/plain' })
    expect(text.body).toBe('Too many requests, retry in 60 s.')
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(text.headers.get('retry-after')).toBe('60')
    for (const accept of ['application/json', '*/*', 'image/png']) {
      const json = await request('/', { accept })
      expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(JSON.parse(json.body)).toEqual({
        error: 'Too Many Requests',
        message: 'Too many requests, retry in 60 s.',
        statusCode: 429,
        retryAfter: 60
      })
    }
    const problem = await request('/', { accept: 'application/problem+json' })
    expect(problem.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(problem.body)).toMatchObject({ title: 'Quota Exceeded', status: 429 })
  })

  it('is an HttpException with the decision, and its headers are set before a filter sees it', async () => {
    const seen: RateLimitException[] = []
    @Catch(HttpException)
    class Own implements ExceptionFilter {
      catch(exception: HttpException, host: ArgumentsHost) {
        seen.push(exception as RateLimitException)
        const response = host.switchToHttp().getResponse()
        const body = { own: exception.getResponse() }
        if (platform === 'express') response.status(exception.getStatus()).json(body)
        else response.code(exception.getStatus()).send(body)
      }
    }
    const { request } = await start(platform, {
      options: one,
      controllers: [Pages],
      // A provider of the root module, which comes before those of the modules that it imports.
      providers: [{ provide: APP_FILTER, useClass: Own }]
    })
    await request('/')
    const denied = await request('/')
    expect(denied.status).toBe(429)
    expect(JSON.parse(denied.body)).toEqual({
      own: {
        error: 'Too Many Requests',
        message: 'Too many requests, retry in 60 s.',
        statusCode: 429,
        retryAfter: 60
      }
    })
    expect(denied.headers.get('content-type')).toMatch(/^application\/json/)
    expect(
      ['retry-after', 'ratelimit-remaining', 'cache-control'].map((name) => denied.headers.get(name))
    ).toEqual(['60', '0', 'no-store'])
    const [exception] = seen
    expect(exception).toBeInstanceOf(RateLimitException)
    expect(exception!.message).toBe('Too many requests, retry in 60 s.')
    expect(exception!.rateLimit).toMatchObject({
      allowed: false,
      limit: 1,
      remaining: 0,
      retryAfterMs: 60_000
    })
    expect(exception!.retryAfterSeconds).toBe(60)
  })

  it.each(['main', 'class', 'method'] as const)('reaches filters that %s brings', async (where) => {
    let seen = 0
    @Catch(RateLimitException)
    class Own implements ExceptionFilter {
      catch(exception: RateLimitException) {
        seen++
        exception.send()
      }
    }
    const none = {
      catch: (error: unknown) => {
        throw error
      }
    }
    @Catch(TypeError)
    class Nothing implements ExceptionFilter {
      catch = none.catch
    }
    @Controller()
    @UseFilters(where === 'class' ? Own : Nothing)
    class Filtered {
      @Get() @UseFilters(where === 'method' ? Own : Nothing) page() {}
    }
    const { statuses } = await start(platform, {
      options: one,
      controllers: [Filtered],
      set: (app) => (where === 'main' ? app.useGlobalFilters(new Own()) : app)
    })
    expect(await statuses('/', '/')).toEqual([200, 429])
    expect(seen).toBe(1)
  })

  it('is JSON where a filter that catches all leaves it to Nest', async () => {
    @Catch()
    class Reporting extends BaseExceptionFilter {}
    const { request } = await start(platform, {
      options: one,
      controllers: [Pages],
      set: (app) => app.useGlobalFilters(new Reporting(app.get(HttpAdapterHost).httpAdapter))
    })
    await request('/')
    const { status, body, headers } = await request('/')
    expect([status, JSON.parse(body).retryAfter, headers.get('retry-after')]).toEqual([429, 60, '60'])
  })

  it('is JSON by a guard of its own, without a module', async () => {
    const { request } = await start(platform, {
      controllers: [Pages],
      set: (app) => app.useGlobalGuards(limitGuard({ ...one, now: () => 0 }))
    })
    await request('/')
    const { status, body, headers } = await request('/')
    expect([status, JSON.parse(body).statusCode, headers.get('retry-after')]).toEqual([429, 429, '60'])
  })

  it('has the user’s answer: what `onLimited` returns, sends or throws', async () => {
    class Locked extends HttpException {}
    @Controller()
    class Answers {
      @Get('returns') @Limit({ ...one, onLimited: () => ({ locked: true }) }) returns() {}
      @Get('sends')
      @Limit({
        ...one,
        onLimited(_request, response) {
          if (platform === 'express') (response as { end(text: string): void }).end('sent')
          else (response as { send(text: string): void }).send('sent')
        }
      })
      sends() {}
      @Get('throws')
      @Limit({
        ...one,
        onLimited() {
          throw new Locked('locked', 423)
        }
      })
      throws() {}
    }
    const { request } = await start(platform, { options: {}, controllers: [Answers] })
    const denied = async (path: string) => {
      await request(path)
      const { status, body } = await request(path)
      return [status, body]
    }
    expect(await denied('/returns')).toEqual([429, '{"locked":true}'])
    expect(await denied('/sends')).toEqual([429, 'sent'])
    expect(await denied('/throws')).toEqual([423, '{"statusCode":423,"message":"locked"}'])
  })

  it('is what Nest makes of an error that `onLimited` returns', async () => {
    const seen: RateLimitException[] = []
    const error = new TypeError('locked')
    @Catch(RateLimitException)
    class Own implements ExceptionFilter {
      catch(exception: RateLimitException) {
        seen.push(exception)
        exception.send()
      }
    }
    @Controller()
    class Errors {
      @Get('plain') @Limit({ ...one, statusCode: 423, onLimited: () => error }) plain() {}
      @Get('own') @Limit({ ...one, onLimited: async () => new HttpException('locked', 418) }) own() {}
      @Get('late') @Limit({ ...one, key: 'user', onLimited: () => new Error('late') }) late() {}
    }
    const { request } = await start(platform, {
      options: {},
      controllers: [Errors],
      set: (app) => app.useGlobalFilters(new Own())
    })
    const denied = async (path: string) => {
      await request(path)
      const { status, body, headers } = await request(path, { accept: 'text/plain' })
      return [status, JSON.parse(body), headers.get('retry-after')]
    }
    expect(await denied('/plain')).toEqual([
      423,
      { error: 'Request Denied', message: 'locked', statusCode: 423, retryAfter: 60 },
      '60'
    ])
    expect(await denied('/own')).toEqual([418, { statusCode: 418, message: 'locked' }, '60'])
    expect(await denied('/late')).toMatchObject([429, { message: 'late', statusCode: 429 }, '60'])
    expect(seen.map(({ message }) => message)).toEqual(['locked', 'late'])
    expect(seen[0]).toMatchObject({ cause: error, rateLimit: { allowed: false } })
    expect(seen[0]!.getStatus()).toBe(423)
  })

  it('is a 403 for an address of the deny list', async () => {
    const { request } = await start(platform, {
      options: { ...one, deny: ['loopback'] },
      controllers: [Pages]
    })
    const { status, body, headers } = await request('/')
    expect([status, JSON.parse(body), headers.get('cache-control')]).toEqual([
      403,
      { error: 'Forbidden', message: 'Forbidden', statusCode: 403 },
      'no-store'
    ])
  })

  it('comes before interceptors, also where limits come after guards', async () => {
    const seen: string[] = []
    class Watching implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler) {
        seen.push('reached')
        return next.handle()
      }
    }
    const { statuses, request } = await start(platform, {
      options: { ...one, key: 'user' },
      controllers: [Pages],
      set: (app) => app.useGlobalInterceptors(new Watching())
    })
    expect(await statuses('/', '/')).toEqual([200, 429])
    expect(JSON.parse((await request('/')).body).message).toBe('Too many requests, retry in 60 s.')
    expect(seen).toEqual(['reached'])
  })
})
