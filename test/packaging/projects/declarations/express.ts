import type { Request } from 'express'
import rateLimit, { keyOf, shed } from 'headgate/express'

export const api = rateLimit({ limit: 5, window: '1m' })
export const computed = rateLimit({ limit: (request) => request.path.length, window: '1m' })
export const { limiter } = api
export const decision = limiter.peek({ ip: '::1' })
export const later = limiter.consume({ headers: {} })
export const { policies } = limiter
export const key = keyOf('ip', '::1')
export const factory = rateLimit
export const options = (): Parameters<typeof rateLimit>[0] => ({ limit: 5, window: '1m' })
export const left = (request: Request) => request.rateLimit
export const all = { api, limiter, who: { ip: '::1' } }
export const make = (limit: number) => rateLimit({ limit, window: '1m' })
export const shedder = shed({ concurrency: 5, priority: (request) => (request.ip ? 'normal' : undefined) })
export const { state, statusHandler } = shedder
export const told = () => shedder.status()
export const shedOptions = (): Parameters<typeof shed>[0] => ({ health: { gauge: () => 0 } })
export default rateLimit({ limits: [{ limit: 1, window: 1000 }] })
