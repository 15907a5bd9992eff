import { describe, expect, it } from 'vitest'
import type { DelayOptions } from '../../src/core/delay.js'
import { definePolicy, withLimit, withShare } from '../../src/core/policy.js'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { definePolicies } from '../../src/core/policy-or-limits.js'
import { createLimiter, type HeadgateError, toHeaders } from '../../src/index.js'

const rule = { limit: 100, window: '1m' } as const

function refusalOf(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    expect((error as HeadgateError).code).toMatch(/^HEADGATE_(UNKNOWN|BAD)_OPTION$/)
    return (error as Error).message
  }
  return ''
}

const refused = (delay: unknown, options: object = {}) =>
  refusalOf(() => createLimiter({ ...rule, ...options, delay } as never))

/** A limiter on a clock that stands still. */
function limiterOf(options: Partial<WindowOptions> & { readonly delay: DelayOptions }) {
  return createLimiter({ ...rule, now: () => 0, ...options })
}

describe('delay', () => {
  it('holds what is over `after` one step longer for each unit, up to `max`', () => {
    const limiter = limiterOf({ delay: { after: 3, step: '500ms', max: '2s' } })
    const delays = Array.from({ length: 10 }, () => limiter.consume('k').delayMs)
    expect(delays).toEqual([0, 0, 0, 500, 1000, 1500, 2000, 2000, 2000, 2000])
  })

  it('leaves out what there is a default for: one unit goes free, and nobody is held for more than a minute', () => {
    const limiter = limiterOf({ delay: { step: '25s' } })
    expect(Array.from({ length: 5 }, () => limiter.consume('k').delayMs)).toEqual([
      0, 25_000, 50_000, 60_000, 60_000
    ])
    expect(definePolicy({ ...rule, delay: { step: '2m' } }).delay).toMatchObject({
      maxMs: 120_000,
      places: 1000
    })
  })

  it('counts units, its own among them', () => {
    const limiter = limiterOf({ delay: { after: 5, step: 100 } })
    expect(limiter.consume('k', 5).delayMs).toBe(0)
    expect(limiter.consume('k', 4).delayMs).toBe(400)
    expect(limiter.consume('k', 0).delayMs).toBe(0)
    expect(limiter.consume('k').delayMs).toBe(500)
  })

  it('denies what is over the limit, and holds nobody whom it denies', () => {
    const limiter = limiterOf({ limit: 2, delay: { after: 1, step: '1s' } })
    limiter.consume('k')
    expect(limiter.consume('k')).toMatchObject({ allowed: true, delayMs: 1000 })
    expect(limiter.consume('k')).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 60_000 })
  })

  it('is told by no look', () => {
    const limiter = limiterOf({ delay: { after: 0, step: '1s' } })
    limiter.consume('k')
    expect('delayMs' in limiter.peek('k')).toBe(false)
  })

  it('is told of a permit, too', () => {
    const limiter = limiterOf({ delay: { after: 0, step: '1s' } })
    expect(limiter.acquire('k').delayMs).toBe(1000)
  })

  it('is the longest of several, and 0 where any limit denies', () => {
    const limits = [
      { limit: 10, window: '1m', delay: { after: 0, step: '1s' } },
      { limit: 3, window: '1h', delay: { after: 1, step: '3s' } }
    ]
    const limiter = createLimiter({ limits, now: () => 0 })
    const told = Array.from({ length: 4 }, () => limiter.consume('k'))
    expect(told.map(({ delayMs }) => delayMs)).toEqual([1000, 3000, 6000, 0])
    expect(told[1]!.tiers.map(({ delayMs }) => delayMs)).toEqual([2000, 3000])
    expect(told[3]!.tiers.map(({ delayMs }) => delayMs)).toEqual([0, 0])
  })

  it('goes by what fades, and by what is paid back', () => {
    let now = 0
    const delay = { after: 0, step: 100 }
    for (const strategy of ['sliding-window', 'token-bucket', 'gcra', 'sliding-log']) {
      now = 0
      const limiter = createLimiter({ limit: 10, window: 10_000, strategy, delay, now: () => now })
      limiter.consume('k', 8)
      now = 10_000 + 5000
      const { remaining, delayMs } = limiter.consume('k')
      expect([strategy, delayMs]).toEqual([strategy, (10 - remaining) * 100])
      expect([strategy, delayMs]).toEqual([strategy, strategy === 'sliding-window' ? 500 : 100])
    }
  })

  it('is refused where it cannot work, by name and with the fix', () => {
    expect(refused({})).toMatch(/`delay.step` is undefined: say how much longer/)
    expect(refused('1s')).toMatch(/`delay` is "1s": give \{ after: 5, step: '500ms'/)
    expect(refused(null)).toContain('`delay` is null')
    expect(refused(3, { strategy: 'leaky-bucket' })).toContain('`delayAfter`')
    expect(refused({ step: '1s' }, { strategy: 'leaky-bucket' })).toMatch(/holds requests back by itself/)
    expect(refused({ step: '1s', afer: 1 })).toContain('did you mean `after`?')
    expect(refused({ step: 0 })).toContain('`delay.step` is 0')
    expect(refused({ step: '1s', max: '30d' })).toMatch(/`delay.max` is "30d": .*24 days/)
    expect(refused({ step: '1s', after: -1 })).toContain('`delay.after` is -1')
    expect(refused({ step: '1s', places: 0 })).toContain('`delay.places` is 0')
    expect(refused({ step: '1s', after: 100 })).toMatch(/`delay.after` is 100: .*nothing would be held/)
    expect(refused({ step: '1s', after: 99 })).toBe('')
    expect(refusalOf(() => createLimiter({ ...rule, delayAfter: 5 }))).toContain(
      "`delay: { after, step: '500ms' }`"
    )
    expect(refusalOf(() => createLimiter({ concurrency: 2, delay: { step: 1 } } as never))).toContain(
      '`limits:'
    )
    const beside = [{ ...rule, delay: { step: 1 } }, { concurrency: 2 }]
    expect(refusalOf(() => createLimiter({ limits: beside }))).toMatch(/`delay` .* that with `delay` first/)
  })
})

describe('a limit of Infinity beside delay', () => {
  const delay = { after: 2, step: '1s', max: '1h' }

  it.each(['fixed-window', 'sliding-window'])('denies nothing, and counts (%s)', (strategy) => {
    const limiter = limiterOf({ limit: Infinity, strategy, delay })
    const told = Array.from({ length: 200 }, () => limiter.consume('k'))
    expect(told.map(({ delayMs }) => delayMs)).toEqual(told.map((_, i) => Math.max(0, i - 1) * 1000))
    for (const decision of [...told, limiter.peek('k')])
      expect(decision).toMatchObject({ allowed: true, limit: Infinity, remaining: Infinity, retryAfterMs: 0 })
    expect(toHeaders(told[0]!)).toEqual({})
    limiter.refund('k', 150)
    expect(limiter.consume('k').delayMs).toBe(49_000)
  })

  it.each(['fixed-window', 'sliding-window'])(
    'nor where a key has come to what it counts up to (%s)',
    (strategy) => {
      const limiter = createLimiter({ limit: Infinity, window: '30d', strategy, delay, now: () => 0 })
      const { limit } = limiter.policies[0]!
      // 2^53 by the ms of the window.
      expect(limit).toBe(3_474_999)
      limiter.consume('k', limit - 1)
      for (const cost of [1, 1, 5, limit])
        expect(limiter.consume('k', cost)).toMatchObject({
          allowed: true,
          remaining: Infinity,
          delayMs: 3_600_000
        })
    }
  )

  it('is of windows alone, and of no limiter without `delay`', () => {
    const made = (options: object) => refusalOf(() => createLimiter({ ...rule, limit: Infinity, ...options }))
    expect(made({})).toContain('`limit` is Infinity')
    expect(made({ delay, strategy: 'token-bucket' })).toMatch(/`limit` is Infinity: .*'sliding-window'/)
  })

  it('is named after that, beside others', () => {
    const names = definePolicies([{ ...rule, limit: Infinity, delay }, rule]).map(({ name }) => name)
    expect(names).toEqual(['unlimited-per-1m', '100-per-1m'])
  })

  it('blocks all the same', () => {
    const limiter = limiterOf({ limit: Infinity, delay })
    limiter.block('k', '5s')
    expect(limiter.consume('k')).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 5000,
      delayMs: 0
    })
  })

  it('comes and goes where limits are computed, and what was counted stays', () => {
    const policy = definePolicy({ ...rule, delay })
    const endless = withLimit(policy, Infinity)
    expect(endless).toMatchObject({ isEndless: true, delay: policy.delay })
    expect(withLimit(endless, 5)).toMatchObject({ isEndless: false, limit: 5, strategy: policy.strategy })
    expect(withLimit(policy, 0)).toMatchObject({ isEndless: false, limit: 0 })
    expect(() => withLimit(definePolicy({ ...rule, strategy: 'gcra', delay }), Infinity)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_BAD_LIMIT',
        message: expect.stringContaining("'sliding-window'")
      })
    )
    expect(withLimit(definePolicy(rule), Infinity)).toMatchObject({ isEndless: false, limit: Infinity })
  })

  it('a share of it sees a part of the requests, each of which stands for more', () => {
    const shared = withShare(
      definePolicy({ ...rule, limit: Infinity, delay: { after: 8, step: 100 } }),
      1 / 4
    )
    expect(shared).toMatchObject({ isEndless: true, delay: { after: 2, stepMs: 400, maxMs: 60_000 } })
  })
})
