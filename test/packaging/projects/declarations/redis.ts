import { redisStore } from 'headgate/redis'

export const store = redisStore(async () => null)
export const make = (options: Parameters<typeof redisStore>[1]) => redisStore(async () => null, options)
