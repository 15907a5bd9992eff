import { headgate } from './harness.js'

/*
 * What else there is in a real process: every adapter is loaded, ten limiters of mixed strategies are at work, and one
 * whose limit is computed has seen fifty of them. So the code that decides has met objects of many kinds.
 */

const strategies = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra', 'leaky-bucket']
const kept = new Array(16)

export async function likeAnApp() {
  const { createLimiter } = await headgate()
  for (const room of ['fastify', 'nest', 'redis', 'shared']) await headgate(`${room}/index.js`)
  const limiters = Array.from({ length: 10 }, (_, i) => {
    const strategy = strategies[i % strategies.length]
    const burst = strategy === 'leaky-bucket' ? { burst: 99 } : {}
    return createLimiter({ strategy, limit: 20 + i, window: 60_000, ...burst })
  })
  for (const limiter of limiters)
    for (let i = 0; i < 20_000; i++) kept[i & 15] = limiter.consume(`key ${i % 1000}`)
  limiters.push(
    createLimiter({
      limits: [
        { limit: 10, window: '1s' },
        { limit: 100, window: '1m', strategy: 'gcra' }
      ]
    })
  )
  for (let i = 0; i < 5000; i++) kept[i & 15] = limiters[10].consume(`key ${i % 100}`)
  await computedLimits()
  return limiters
}

/** A middleware whose limit is a function, asked for fifty different ones. */
async function computedLimits() {
  const { rateLimit } = await headgate('express/index.js')
  const middleware = rateLimit({ limit: ({ limit }) => limit, window: '1m', key: ({ limit }) => limit })
  const response = { setHeader() {}, getHeader() {}, removeHeader() {}, end() {}, once() {}, on() {} }
  for (let i = 0; i < 5000; i++)
    middleware({ method: 'GET', headers: {}, socket: {}, limit: 1000 + (i % 50) }, { ...response }, () => {})
}
