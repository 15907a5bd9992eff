import 'reflect-metadata'
import type { ExecutionContext } from '@nestjs/common'
import { Catch, Controller, type ExceptionFilter, Get, HttpException, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { RateLimitModule, Shed, ShedException, type ShedGuard, shed } from '../../src/nest/index.js'

const closing: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close()
})

@Controller('plain')
class PlainController {
  @Get() list() {
    return 'list'
  }
}

@Controller('never')
@Shed.skip()
class NeverController {
  @Get() list() {
    return 'list'
  }

  @Get('own')
  @Shed({ priority: 'normal' })
  own() {
    return 'own'
  }
}

@Controller('pay')
@Shed({ priority: 'critical' })
class PayController {
  @Get() pay() {
    return 'paid'
  }
}

const controllers = [PlainController, NeverController, PayController]

@Module({ controllers })
class Alone {}

@Module({ controllers, imports: [RateLimitModule.forRoot({} as never)] })
class WithLimits {}

/** A worker that is not healthy: all that may be shed is. */
function sick(): ShedGuard {
  const guard = shed({ health: { healthCheck: () => false } })
  closing.push(guard)
  return guard
}

async function listening(
  module: object,
  platform: string,
  guard: ShedGuard,
  filters: ExceptionFilter[] = []
) {
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()
  const app = await NestFactory.create(module, adapter as ExpressAdapter, { logger: false })
  closing.push(app)
  app.useGlobalGuards(guard)
  app.useGlobalFilters(...filters)
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()
  return (path: string, accept = '*/*') => fetch(url + path, { headers: { accept } })
}

describe.each(['express', 'fastify'])('the guard over %s', (platform) => {
  it('goes by what stands on the method, and then on the class', async () => {
    const get = await listening(Alone, platform, sick())
    const paths = ['/plain', '/never', '/never/own', '/pay', '/unknown']
    const statuses = []
    for (const path of paths) statuses.push((await get(path)).status)
    expect(statuses).toEqual([503, 200, 503, 200, 404])
  })

  it('answers in JSON without the module, and as the request accepts it with it', async () => {
    const problem = 'application/problem+json'
    for (const [module, type] of [
      [Alone, 'application/json; charset=utf-8'],
      [WithLimits, problem]
    ] as const) {
      const get = await listening(module, platform, sick())
      const answer = await get('/plain', problem)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([503, type])
      expect(answer.headers.get('retry-after')).toBe('10')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('throws an exception that filters see', async () => {
    const seen: unknown[] = []
    class Filter implements ExceptionFilter<HttpException> {
      catch(exception: HttpException, host: { getArgByIndex(index: number): never }): void {
        const isOurs = exception instanceof ShedException
        seen.push(
          isOurs,
          exception.getStatus(),
          exception.getResponse(),
          isOurs && exception.retryAfterSeconds
        )
        const response = host.getArgByIndex(1) as { send(body: string): void }
        response.send('by the filter')
      }
    }
    Catch(HttpException)(Filter)
    const get = await listening(Alone, platform, sick(), [new Filter()])
    const answer = await get('/plain')
    expect([answer.status, await answer.text()]).toEqual([503, 'by the filter'])
    expect(seen).toEqual([
      true,
      503,
      {
        error: 'Service Unavailable',
        message: 'The server is short of capacity, retry in 10 s.',
        statusCode: 503,
        retryAfter: 10
      },
      10
    ])
  })

  it('shares nothing with another shedder', async () => {
    const [one, other] = [shed({ concurrency: 1 }), sick()]
    const getOne = await listening(Alone, platform, one)
    const getOther = await listening(Alone, platform, other)
    expect([(await getOne('/plain')).status, (await getOther('/plain')).status]).toEqual([200, 503])
    expect([one.state.isHealthy, other.state.isHealthy]).toEqual([true, false])
    expect(await other.status()).toMatchObject({ statusCode: 503, body: { status: 'unavailable' } })
  })
})

describe('other contexts than HTTP', () => {
  it.each(['graphql', 'ws', 'rpc', 'telegraf'])('pass: %s', (type) => {
    const context = { getType: () => type, getArgByIndex: () => ({}) } as unknown as ExecutionContext
    expect(sick().canActivate(context)).toBe(true)
  })
})
