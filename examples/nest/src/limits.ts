import type { ConfigService } from '@nestjs/config'
import type { Request } from 'express'
import { limitGuard, type RateLimitModuleOptions } from 'headgate/nest'

// The names that `@Limit` and RateLimitService take.
declare module 'headgate/nest' {
  interface LimitPolicies {
    login: true
    reports: true
  }
}

/** The account that is tried. A body may be anything, or missing. */
function accountOf({ body }: Request): string {
  const account: unknown = body?.account
  return typeof account === 'string' && account !== '' ? account : 'nobody'
}

export function limits(config: ConfigService): RateLimitModuleOptions<Request> {
  return {
    // Everybody, by address, but for the office.
    limit: Number(config.get('LIMIT', '100')),
    window: '1m',
    allow: ['203.0.113.0/24'],
    policies: {
      // Failed logins, by the account that was tried.
      login: {
        limit: 2,
        window: '15m',
        strategy: 'sliding-log',
        key: accountOf,
        countOnly: 'failures'
      },
      // After the guards, so that only keys that exist are counted.
      reports: {
        limit: 2,
        window: '1h',
        strategy: 'token-bucket',
        key: 'header:x-api-key',
        stage: 'interceptor'
      }
    }
  }
}

/** Guesses of API keys, by address: it stands before the guard that checks them. */
export const guesses = limitGuard({
  name: 'guesses',
  limit: 3,
  window: '15m',
  strategy: 'sliding-log',
  countOnly: (_request, _response, status) => status === 401
})
