import 'reflect-metadata'
import { Controller, Get, type INestApplication, Module } from '@nestjs/common'
import { type AbstractHttpAdapter, ExternalContextCreator, NestFactory } from '@nestjs/core'
import { MessagePattern, RpcException } from '@nestjs/microservices'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { WsException } from '@nestjs/websockets'
import { HeadgateError as CoreError } from 'headgate'
import { HeadgateError, Limit, RateLimitModule, RateLimitService } from 'headgate/nest'

@Controller('reports')
@Limit({ limit: 2, window: '1d' })
export class ReportsController {
  // Found by its type, which is there at run time by `emitDecoratorMetadata` alone.
  constructor(private readonly limits: RateLimitService) {}

  @Get()
  list(): boolean {
    return this.limits instanceof RateLimitService
  }
}

@Controller('logins')
export class LoginsController {
  @Get()
  @Limit('login')
  list(): string {
    return 'logins'
  }

  @Get('health')
  @Limit.skip()
  health(): string {
    return 'well'
  }
}

export class Messages {
  @MessagePattern('receive')
  @Limit({ limit: 1, window: '1d', key: () => 'everyone' })
  receive(): string {
    return 'received'
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({ limit: 1, window: '1d', policies: { login: { limit: 2, window: '1d' } } })
  ],
  controllers: [ReportsController, LoginsController],
  providers: [Messages]
})
export class AppModule {}

/** What a project sees of its application, on each platform. */
export async function seen(): Promise<Record<string, unknown>> {
  const adapters: Record<string, unknown> = { express: new ExpressAdapter(), fastify: new FastifyAdapter() }
  const all: Record<string, unknown> = { hasOneError: CoreError === HeadgateError }
  for (const [name, adapter] of Object.entries(adapters)) {
    const app = await NestFactory.create(AppModule, adapter as AbstractHttpAdapter, {
      logger: false,
      abortOnError: false
    })
    await app.listen(0, '127.0.0.1')
    all[name] = { ...(await answers(await app.getUrl())), messages: await messages(app) }
    await app.close()
  }
  return all
}

async function answers(url: string): Promise<object> {
  const answer = (path: string) => fetch(`${url}/${path}`, { headers: { connection: 'close' } })
  const statuses = async (path: string) => [
    (await answer(path)).status,
    (await answer(path)).status,
    (await answer(path)).status
  ]
  const first = await answer('reports')
  const reports = [first.status, (await answer('reports')).status]
  const denied = await answer('reports')
  return {
    service: await first.text(),
    reports: [...reports, denied.status],
    headers: ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-policy'].map((name) =>
      denied.headers.get(name)
    ),
    waits: Number(denied.headers.get('retry-after')) > 0,
    logins: await statuses('logins'),
    health: await statuses('logins/health'),
    unknown: await statuses('unknown')
  }
}

/** What becomes of messages beyond the limit: whether they meet the exceptions of this project's own packages. */
async function messages(app: INestApplication): Promise<unknown[]> {
  const target = app.get(Messages)
  const send = (type: 'ws' | 'rpc', args: readonly unknown[]): Promise<unknown> => {
    const contexts = app.get(ExternalContextCreator)
    const none = undefined
    return contexts.create(target, target.receive, 'receive', none, none, none, none, none, type)(...args)
  }
  return [
    await send('ws', [{}, 'text', 'receive']),
    await send('ws', [{}, 'text', 'receive']).catch((error: unknown) => error instanceof WsException),
    await send('rpc', ['text', {}]).catch((error: unknown) => error instanceof RpcException)
  ]
}
