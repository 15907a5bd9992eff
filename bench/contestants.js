import { headgate } from './harness.js'

const minute = 60_000

/*
 * What each contestant does for one decision of a fixed window in memory. `make({ limit, keys, windowMs })` gives
 * `hit(key)`; a window is a minute if left out. `awaits` marks those whose answer is a promise, which a server has to
 * await to know it.
 */

/** What a limiter written by hand costs at the least: a Map, an object a key, the same answer as ours. */
function floor({ limit, windowMs = minute }, now) {
  const windows = new Map()
  return (key) => {
    const at = now()
    let window = windows.get(key)
    if (window === undefined) {
      window = { count: 0, reset: at + windowMs }
      windows.set(key, window)
    } else if (window.reset <= at) {
      window.count = 0
      window.reset = at + windowMs
    }
    const resetMs = window.reset - at
    if (window.count >= limit) return { allowed: false, limit, remaining: 0, retryAfterMs: resetMs, resetMs }
    window.count++
    return { allowed: true, limit, remaining: limit - window.count, retryAfterMs: 0, resetMs }
  }
}

/** Our own, by any strategy and rule. */
export async function own(rule, keys) {
  const { createLimiter, memoryStore } = await headgate()
  const limiter = createLimiter({ ...rule, store: memoryStore({ maxKeys: Math.max(keys, 1000) }) })
  return (key) => limiter.consume(key)
}

export const contestants = {
  floor: { make: (rule) => floor(rule, Date.now) },
  'floor, no clock': { make: (rule) => floor(rule, () => 1_700_000_000_000) },
  headgate: { make: ({ limit, keys, windowMs = minute }) => own({ limit, window: windowMs }, keys) },
  hitlimit: {
    async make({ limit, windowMs = minute }) {
      const { memoryStore } = await import('@joint-ops/hitlimit/stores/memory')
      const store = memoryStore()
      return (key) => store.hit(key, windowMs, limit)
    }
  },
  '@fastify/rate-limit': {
    async make({ limit, keys, windowMs = minute }) {
      const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js')
      // Its own default forgets all but the last 5000 keys.
      const store = new LocalStore(false, false, keys)
      let answer
      const keep = (_error, result) => {
        answer = result
      }
      return (key) => {
        store.incr(key, keep, windowMs, limit)
        return answer
      }
    }
  },
  'express-rate-limit': {
    awaits: true,
    async make({ windowMs = minute }) {
      const { MemoryStore } = await import('express-rate-limit')
      const store = new MemoryStore()
      store.init({ windowMs })
      return (key) => store.increment(key)
    }
  },
  'rate-limiter-flexible': {
    awaits: true,
    async make({ limit, windowMs = minute }) {
      const { RateLimiterMemory } = await import('rate-limiter-flexible')
      const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
      return (key) => limiter.consume(key).catch((denied) => denied)
    }
  }
}

/** Making the key and nothing else: what is taken off every other time. */
export const idle = { make: () => (key) => key }

/** Addresses of as many clients as asked: text of one, and a fresh copy as a header parser makes it. */
export function addresses(count) {
  const text = (i) => `10.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`
  const starts = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) starts[i + 1] = starts[i] + text(i).length
  const bytes = Buffer.alloc(starts[count])
  for (let i = 0; i < count; i++) bytes.latin1Write(text(i), starts[i])
  return { count, fresh: (i) => bytes.latin1Slice(starts[i], starts[i + 1]) }
}
