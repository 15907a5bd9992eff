import { UseGuards } from '@nestjs/common'
import { type LimitFactory, limitFactory } from '../decorators/limit.js'
import { RateLimitGuard } from './guard.js'
import type { NestLimitSettings, NestRequest, PolicyName } from './options.js'

const guarded = UseGuards(RateLimitGuard) as (target: unknown, name: unknown, descriptor: unknown) => void

/**
 * Says how a controller, resolver, gateway or one of their handlers is limited: what stands on a method replaces what
 * stands on its class, and that the module's limit. What it leaves out it has from there. Several on one target are
 * decided together, all or nothing.
 * @example
 * @Controller('reports') @Limit({ limit: 100, window: '1m' })
 * class ReportsController {
 *   @Get() @Limit({ limit: 10, window: '1s', strategy: 'token-bucket', key: 'header:x-api-key' }) list() {}
 *   @Post() @Limit('ip', 3, '1m') create() {}
 *   @Get('health') @Limit.skip() health() {}
 * }
 * @throws HeadgateError for what can be no limit, and for targets that can be no handler
 */
// Nest calls the module's guard for routes by itself, but for gateways and microservices it must stand on the target.
export const Limit: LimitFactory<PolicyName, NestLimitSettings, NestRequest> = limitFactory(
  (mark) => (target: unknown, name?: unknown, descriptor?: unknown) => {
    mark(target as object, name as string, descriptor as object)
    guarded(target, name, descriptor)
  }
)
