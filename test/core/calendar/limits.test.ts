import { describe, expect, it, vi } from 'vitest'
import { definePolicy, ruleOf, withLimit } from '../../../src/core/policy.js'
import { createLimiter, type LimiterOptions } from '../../../src/index.js'
import { naming } from '../../support/errors.js'
import { limiterOf } from '../../support/traces.js'

const at = (text: string) => Date.parse(text)
const day = 86_400_000

describe('a limit of the calendar', () => {
  const monthly = { limit: 3, window: 'month', timeZone: 'Europe/Berlin' } as const

  it('counts in the month that the zone has', () => {
    const limiter = limiterOf(monthly)
    const end = at('2026-03-31T22:00Z')
    for (let left = 2; left >= 0; left--)
      expect(limiter.at(at('2026-03-10T00:00Z')).consume('a')).toMatchObject({
        ...{ allowed: true, limit: 3, remaining: left, retryAfterMs: 0 },
        resetMs: end - at('2026-03-10T00:00Z')
      })
    expect(limiter.at(end - 1).consume('a')).toMatchObject({ allowed: false, retryAfterMs: 1, resetMs: 1 })
    expect(limiter.at(end).consume('a')).toMatchObject({
      ...{ allowed: true, remaining: 2 },
      resetMs: at('2026-04-30T22:00Z') - end
    })
  })

  it('asks for the calendar once a window, not once a key', () => {
    const limiter = limiterOf(monthly).at(at('2026-03-10T00:00Z'))
    limiter.consume('a')
    const asked = vi.spyOn(Intl.DateTimeFormat.prototype as { readonly format: unknown }, 'format', 'get')
    for (let i = 0; i < 100; i++) limiter.at(at('2026-03-10T00:00Z') + i * 3_600_000).consume(`key ${i}`)
    expect(asked).toHaveBeenCalledTimes(0)
    limiter.at(at('2026-04-01T00:00Z')).consume('b')
    expect(asked).toHaveBeenCalled()
    asked.mockRestore()
  })

  it('gives back within its window alone', () => {
    const limiter = limiterOf(monthly)
    limiter.at(at('2026-03-31T21:00Z')).consume('a', 2)
    limiter.at(at('2026-03-31T22:30Z')).consume('a')
    limiter.refund('a', 2, at('2026-03-31T21:00Z'))
    expect(limiter.peek('a').remaining).toBe(2)
    limiter.consume('a')
    limiter.at(at('2026-04-30T21:59Z')).refund('a', 1, at('2026-03-31T22:30Z'))
    expect(limiter.peek('a').remaining).toBe(2)
  })

  it('is named after its unit, and told apart by its calendar', () => {
    const policy = (options: object) => definePolicy({ limit: 1, window: 'month', ...options })
    const rules = [
      {},
      { timeZone: 'Europe/Berlin' },
      { startsOn: 2 },
      { window: 'year' },
      { window: '31d' }
    ].map((options) => JSON.stringify(ruleOf(policy(options))))
    expect(new Set(rules).size).toBe(rules.length)
    expect(JSON.stringify(ruleOf(policy({})))).toBe(JSON.stringify(ruleOf(policy({ timeZone: 'UTC' }))))
    const tiers = createLimiter({
      limits: [
        { limit: 10, window: 'day' },
        { limit: 100, window: 'year' }
      ]
    })
    expect(tiers.policies.map(({ name }) => name)).toEqual(['10-per-day', '100-per-year'])
  })

  it('states the most days that a window can have', () => {
    for (const [window, days] of [
      ['day', 1],
      ['week', 7],
      ['month', 31],
      ['year', 366]
    ] as const)
      expect(definePolicy({ limit: 1, window })).toMatchObject({
        ...{ windowMs: days * day, quotaWindowMs: days * day }
      })
  })

  it('may be computed', () => {
    const policy = definePolicy(monthly)
    expect(withLimit(policy, 7)).toMatchObject({ limit: 7, calendar: policy.calendar })
    expect(withLimit(policy, 0).strategy.name).toBe('closed')
  })

  it('leaves `1d` a span of 24 hours', () => {
    expect(definePolicy({ limit: 1, window: '1d' }).calendar).toBe(null)
    expect(ruleOf(definePolicy({ limit: 1, window: '1d' }))).toEqual([
      'fixed-window',
      1,
      day,
      1,
      2,
      'clock',
      0
    ])
  })
})

describe('what is refused', () => {
  const make = (options: object) => () => createLimiter({ limit: 1, ...options } as LimiterOptions)

  it.each([
    [{ window: '1d', timeZone: 'UTC' }, ['`timeZone`', "window: 'day'"]],
    [{ window: '1d', startsOn: 3 }, ['`startsOn`', "window: 'day'"]],
    [{ window: 'month', timeZone: 'Mars/Olympus' }, ['`timeZone`', 'Mars/Olympus', 'Europe/Berlin']],
    [{ window: 'month', timeZone: 3 }, ['`timeZone`', '3']],
    [{ window: 'month', startsOn: 32 }, ['`startsOn`', '32', '1 to 31']],
    [{ window: 'month', startsOn: 'monday' }, ['`startsOn`', '1 to 31']],
    [{ window: 'week', startsOn: 1 }, ['`startsOn`', "'monday'"]],
    [{ window: 'week', startsOn: 'Monday' }, ['`startsOn`', "'monday'"]],
    [{ window: 'day', startsOn: 1 }, ['`startsOn`', 'leave it out']],
    [{ window: 'year', startsOn: 4 }, ['`startsOn`', 'leave it out']],
    [{ window: 'month', strategy: 'sliding-log' }, ['`strategy`', 'sliding-log', "'30d'"]],
    [{ window: 'month', strategy: 'token-bucket', burst: 3 }, ['`strategy`', 'token-bucket']],
    [{ window: 'month', align: 'first-request' }, ['`align`', 'first-request']],
    [{ window: 'month', burst: 2 }, ['`burst`', '2']],
    [{ window: 'monthly' }, ['`window`', "write 'month'"]],
    [{ window: '1 month' }, ['`window`', "write 'month'"]],
    [{ window: 'Day' }, ['`window`', "write 'day'"]],
    [{ window: 'fortnight' }, ['`window`', 'fortnight']]
  ])('%o', (options, parts) => {
    expect(make(options)).toThrow(naming('HEADGATE_BAD_OPTION', ...parts))
  })

  it('in flight there is no calendar', () => {
    expect(() => createLimiter({ concurrency: 1, timeZone: 'UTC' } as never)).toThrow(
      naming('HEADGATE_BAD_OPTION', '`concurrency`', '`timeZone`')
    )
  })
})
