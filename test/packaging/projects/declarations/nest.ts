import {
  Limit,
  limitGuard,
  RATE_LIMIT_OPTIONS,
  RateLimitModule,
  type RateLimitService,
  Shed,
  shed
} from 'headgate/nest'

export const module = RateLimitModule.forRoot({ limit: 5, window: '1m' })
export const later = RateLimitModule.forRootAsync({ useFactory: () => ({ limit: 5, window: '1m' }) })
export const guard = limitGuard({ limit: 5, window: '1m' })
export const { limiter } = guard
export const decision = limiter.peek({ ip: '::1' })
export const mark = Limit('ip', 5, '1m')
export const limit = Limit
export const token = RATE_LIMIT_OPTIONS
export const ask = (limits: RateLimitService) => limits.peek('default', { ip: '::1' })
export class Limits extends RateLimitModule {}
export const shedder = shed({ concurrency: 5 })
export const { state } = shedder
export const told = () => shedder.status()
export const own = Shed({ priority: 'critical' })
