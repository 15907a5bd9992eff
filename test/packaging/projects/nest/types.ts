import { Controller, Get, Injectable, Module, UseGuards } from '@nestjs/common'
import type { Request } from 'express'
import type { FastifyRequest } from 'fastify'
import { memoryStore } from 'headgate'
import {
  type GuardLimit,
  ipKey,
  Limit,
  limitGuard,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitService
} from 'headgate/nest'

declare module 'headgate/nest' {
  interface LimitPolicies {
    login: true
  }
}

@Injectable()
export class Settings {
  readonly limit: number = 100
}

export class Options {
  createRateLimitOptions(): RateLimitModuleOptions {
    return { limit: 1, window: '1m', stage: 'interceptor', scope: 'handler' }
  }
}

// Where the module takes its options from.
export const modules = [
  RateLimitModule.forRoot({ policies: { login: { limit: 5, window: '15m' } }, global: false }),
  RateLimitModule.forRoot({ limit: 1, window: '1m', key: (request: Request) => request.get('x-key') ?? '' }),
  RateLimitModule.forRoot({ limit: 1, window: '1m', key: (request: FastifyRequest) => ipKey(request.ip) }),
  RateLimitModule.forRoot({
    limit: 1,
    window: '1m',
    key: (request) => [ipKey(request.ip), String(request.headers['x-key'])].join()
  }),
  RateLimitModule.forRootAsync({
    imports: [],
    inject: [Settings],
    useFactory: (settings: Settings) => ({ limit: settings.limit, window: '1m', store: memoryStore() })
  }),
  RateLimitModule.forRootAsync({
    inject: [Settings],
    useFactory: async ({ limit }: Settings) => ({ policies: { login: { limit, window: '15m' } } })
  }),
  RateLimitModule.forRootAsync({ useClass: Options })
]

const login: GuardLimit<Request> = { limit: 5, window: '15m', key: (request) => request.path }

@Controller()
@Limit({ limit: 100, window: '1m' })
@Limit({ limit: 1000, window: '1h' })
export class Reports {
  constructor(private readonly limits: RateLimitService) {}

  @Get('a')
  @Limit({ limit: 10, window: '1s', strategy: 'token-bucket', key: 'header:x-api-key' })
  async short(): Promise<boolean> {
    const { allowed } = await this.limits.consume('login', 'someone', 2)
    return allowed
  }

  @Get('b')
  @Limit('ip', 3, '1m', 'sliding-log')
  shorthand(): void {}

  @Get('c')
  @Limit('login')
  named(): void {}

  @Get('d')
  @Limit({ limit: 1, window: '1m', key: (request: Request) => request.path })
  express(): void {}

  @Get('e')
  @Limit({ limit: 1, window: '1m', key: (request: FastifyRequest) => request.routeOptions.url ?? '' })
  fastify(): void {}

  @Get('f')
  @UseGuards(RateLimitGuard, limitGuard(login))
  @Limit.skip()
  skipped(): RateLimitException | null {
    return null
  }

  // @ts-expect-error there is no such policy
  @Limit('logni')
  unknown(): void {}

  // @ts-expect-error a misspelt option
  @Limit({ limit: 1, windw: '1m' })
  misspelt(): void {}

  // @ts-expect-error a misspelt option beside complete ones
  @Limit({ limit: 1, window: '1m', kye: 'ip' })
  misspeltToo(): void {}

  // @ts-expect-error what is no stage
  @Limit({ limit: 1, window: '1m', stage: 'guards' })
  late(): void {}
}

@Module({ imports: modules, controllers: [Reports], providers: [Settings] })
export class Root {}

export function retry(error: unknown): number | null {
  return error instanceof RateLimitException ? error.retryAfterSeconds : null
}

export async function byHand(limits: RateLimitService): Promise<void> {
  await limits.block('default', 'someone', '10m')
  const had: boolean = await limits.reset([Reports, 'short'], { user: 'ada' })
  if (had) await limits.refund(Reports.prototype.named, ['k', { ip: '::1' }], 2)
  // @ts-expect-error there is no such policy
  await limits.reset('logni', 'someone')
}

// @ts-expect-error a misspelt option
RateLimitModule.forRoot({ limit: 1, windw: '1m' })
// @ts-expect-error a misspelt option beside complete ones
RateLimitModule.forRoot({ limit: 1, window: '1m', globl: false })
// @ts-expect-error there is no such policy
RateLimitModule.forRoot({ policies: { logni: { limit: 5, window: '15m' } } })
// @ts-expect-error what is no request
RateLimitModule.forRoot({ limit: 1, window: '1m', key: (request: Request) => request.nothing })
// @ts-expect-error not what the token stands for gives
RateLimitModule.forRootAsync({ inject: [Settings], useFactory: () => ({ limit: '5', window: '1m' }) })
// @ts-expect-error a guard needs a limit
limitGuard({ key: 'ip' })
