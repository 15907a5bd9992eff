import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProduct, divideDown, divideUp } from '../../src/core/exact.js'
import { definePolicy, withLimit } from '../../src/core/policy.js'
import { checkUnique } from '../../src/core/policy-names.js'
import { checkPolicyName } from '../../src/core/policy-options.js'
import { createLimiter } from '../../src/index.js'
import { anyPolicy, limiterOf, policyNames, runs } from '../support/traces.js'

const coded = (code: string, ...parts: string[]) =>
  expect.objectContaining({
    code,
    message: expect.stringMatching(new RegExp(parts.map((part) => `(?=[^]*${part})`).join('')))
  })

describe('a policy', () => {
  it('has documented defaults', () => {
    const policy = definePolicy({ limit: 10, window: '1m' })
    expect(policy).toMatchObject({
      name: 'default',
      limit: 10,
      windowMs: 60_000,
      capacity: 10,
      quotaWindowMs: 60_000
    })
    expect(policy.strategy.name).toBe('fixed-window')
  })

  it('is frozen', () => {
    const { policies } = createLimiter({ limit: 10, window: '1m' })
    expect(Object.isFrozen(policies[0])).toBe(true)
    expect(() => Object.assign(policies[0]!, { limit: 1000 })).toThrow(TypeError)
  })

  it.each([
    ['fixed-window', {}, 10],
    ['sliding-window', {}, 10],
    ['sliding-log', {}, 10],
    ['token-bucket', {}, 10],
    ['token-bucket', { burst: 3 }, 3],
    ['gcra', { burst: 30 }, 30],
    ['leaky-bucket', {}, 1],
    ['leaky-bucket', { burst: 4 }, 5]
  ])('%s with %o has its capacity as the limit of its decisions', (strategy, extra, capacity) => {
    const limiter = limiterOf({ strategy, limit: 10, window: 60_000, ...extra })
    expect(limiter.policies[0]!.capacity).toBe(capacity)
    expect(limiter.peek('key')).toMatchObject({ limit: capacity, remaining: capacity })
    expect(limiter.consume('key', capacity + 1)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
    expect(limiter.consume('key', capacity).allowed).toBe(true)
  })

  it.each(policyNames)('%s states no more than its rate: capacity comes back in quotaWindowMs', (name) => {
    fc.assert(
      fc.property(anyPolicy[name]!, (options) => {
        const { limit, windowMs, capacity, quotaWindowMs } = definePolicy(options)
        const needed = BigInt(capacity) * BigInt(windowMs)
        expect(BigInt(quotaWindowMs!) * BigInt(limit) >= needed).toBe(true)
        expect(BigInt(quotaWindowMs! - 1) * BigInt(limit) < needed).toBe(true)
      }),
      runs(100)
    )
  })

  it('with another limit keeps the rest', () => {
    const policy = definePolicy({ name: 'api', limit: 10, window: '1m', strategy: 'gcra' })
    expect(withLimit(policy, 20)).toMatchObject({ name: 'api', limit: 20, capacity: 20, windowMs: 60_000 })
    const burst = definePolicy({ limit: 10, window: '1m', strategy: 'gcra', burst: 5 })
    expect(withLimit(burst, 20)).toMatchObject({ limit: 20, capacity: 5, quotaWindowMs: 15_000 })
    expect(withLimit(policy, 0)).toMatchObject({ limit: 0, capacity: 0, slots: 0 })
    expect(withLimit(policy, Infinity)).toMatchObject({ limit: Infinity, capacity: Infinity })
  })
})

describe('a policy name (H4)', () => {
  it.each([' ', '~', 'a "quoted" \\ name', 'x'.repeat(1024), '10-per-1s'])('may be %s', (name) => {
    expect(checkPolicyName(name)).toBe(name)
    expect(createLimiter({ name, limit: 1, window: 1000 }).policies[0]!.name).toBe(name)
  })

  it.each(
    [
      ['', 'x'.repeat(1025), 'é', '🚦', 'a\tb', 'a\r\nb', 'a\n', '\0', '\x7f', '\ud800'],
      [5, null, {}, true]
    ].flat()
  )('may not be %o', (name) => {
    expect(() => createLimiter({ name: name as string, limit: 1, window: 1000 })).toThrow(
      coded('HEADGATE_BAD_OPTION', '`name`')
    )
  })

  it('is one of a limiter only, whatever its case', () => {
    for (const [a, b] of [
      ['api', 'api'],
      ['api', 'API'],
      ['Login', 'lOGIN']
    ])
      expect(() =>
        createLimiter({
          limits: [
            { name: a, limit: 1, window: '1s' },
            { name: b, limit: 9, window: '1h' }
          ]
        })
      ).toThrow(coded('HEADGATE_POLICY_CLASH', 'name'))
    expect(() => checkUnique([{ name: 'a' }, { name: 'b' }, { name: 'aa' }])).not.toThrow()
  })

  it('that was not given may not meet one that was', () => {
    const limits = [
      { limit: 10, window: '1s' },
      { name: '10-per-1s', limit: 5, window: '1h' }
    ]
    expect(() => createLimiter({ limits })).toThrow(coded('HEADGATE_POLICY_CLASH', '10-per-1s'))
  })
})

describe('exact division', () => {
  const whole = fc.oneof(
    fc.nat(1000),
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: Number.MAX_SAFE_INTEGER - 1000, max: Number.MAX_SAFE_INTEGER })
  )
  it('is that of whole numbers, up to the largest', () => {
    fc.assert(
      fc.property(whole, whole, (a, divisor) => {
        const b = divisor || 1
        const quotient = BigInt(a) / BigInt(b)
        expect(BigInt(divideDown(a, b))).toBe(quotient)
        expect(BigInt(divideUp(a, b))).toBe(quotient * BigInt(b) === BigInt(a) ? quotient : quotient + 1n)
      }),
      runs(3000)
    )
  })

  it('is safe about products', () => {
    expect(() => checkProduct('limit', Number.MAX_SAFE_INTEGER, 1)).not.toThrow()
    expect(() => checkProduct('limit', Number.MAX_SAFE_INTEGER, 2)).toThrow(
      coded('HEADGATE_BAD_OPTION', '`limit`')
    )
    expect(() => checkProduct('limit', 94_906_267, 94_906_267)).toThrow(
      coded('HEADGATE_BAD_OPTION', '`limit`')
    )
  })
})
