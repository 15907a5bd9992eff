import fc from 'fast-check'
import { parseDictionary, parseItem, parseList, serializeList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { HeadgateError } from '../../src/core/errors.js'
import {
  exposeHeaders,
  type HeaderStyleName,
  headerPlan,
  headerStyleNames,
  headersOf,
  type Quota,
  type RetryAfterFormat,
  retryAfterSeconds
} from '../../src/http/headers/index.js'
import vectors from '../vectors/headers.json' with { type: 'json' }

const NOW = 1_779_530_400_000

/** One entry of the vectors' `decisions`. */
interface VectorQuota {
  policyName: string
  limit: number | string
  windowMs: number | null
  remaining: number | string
  resetMs: number | string | null
  retryAfterMs: number | string | null
  allowed: boolean
  quotaUnit?: string
  partitionKey?: string
  partitionKeyBase64?: string
}

interface Vector {
  id: string
  title: string
  input: {
    nowMs: number
    headerStyle: HeaderStyleName | HeaderStyleName[]
    decisions: VectorQuota[]
    options?: { retryAfterFormat?: RetryAfterFormat; emitPartitionKey?: boolean }
  }
  expected: { headers: Record<string, string> | null; absent?: string[]; configError?: boolean }
}

function quotaOf(given: VectorQuota, emitPartitionKey: boolean): Quota {
  const key =
    given.partitionKeyBase64 ??
    (given.partitionKey === undefined
      ? undefined
      : Buffer.from(given.partitionKey, 'utf8').toString('base64'))
  return {
    policy: {
      name: given.policyName,
      quotaWindowMs: given.windowMs,
      ...(given.quotaUnit === undefined ? {} : { unit: given.quotaUnit })
    },
    limit: Number(given.limit),
    remaining: Number(given.remaining),
    resetMs: given.resetMs === null ? null : Number(given.resetMs),
    retryAfterMs: given.retryAfterMs === null ? null : Number(given.retryAfterMs),
    allowed: given.allowed,
    ...(key === undefined || !emitPartitionKey ? {} : { partitionKey: key })
  }
}

function quota(given: Partial<Quota> & { name?: string; windowMs?: number | null; unit?: string }): Quota {
  const { name = 'default', windowMs = 60_000, unit, ...rest } = given
  return {
    policy: { name, quotaWindowMs: windowMs, ...(unit === undefined ? {} : { unit }) },
    limit: 10,
    remaining: 4,
    resetMs: 5_000,
    retryAfterMs: 0,
    allowed: true,
    ...rest
  }
}

const all = vectors.headers as unknown as Vector[]

/** Refused by core when the policy is defined; tested there. */
const namesOfPolicies = ['H088', 'H089', 'H090', 'H092', 'H093']

describe('header vectors', () => {
  for (const { id, title, input, expected } of all) {
    if (namesOfPolicies.includes(id)) continue
    it(`${id} ${title}`, () => {
      const { retryAfterFormat, emitPartitionKey = true } = input.options ?? {}
      const format = retryAfterFormat === undefined ? {} : { retryAfterFormat }
      if (expected.configError) {
        expect(() => headerPlan(input.headerStyle, format)).toThrow(HeadgateError)
        return
      }
      const tiers = input.decisions.map((given) => quotaOf(given, emitPartitionKey))
      const headers = headersOf(tiers, { style: input.headerStyle, nowMs: input.nowMs, ...format })
      expect(headers).toEqual(expected.headers)
      const present = Object.keys(headers).map((name) => name.toLowerCase())
      for (const name of expected.absent ?? []) expect(present).not.toContain(name.toLowerCase())
    })
  }
})

describe('exposeHeaders vectors', () => {
  for (const { id, input, expected } of vectors.exposeHeaders) {
    it(id, () => {
      const { exposed } = headerPlan(input.headerStyle as HeaderStyleName)
      expect(exposeHeaders(input.existing ?? undefined, exposed)).toBe(expected.join(', '))
    })
  }

  it('ignores empty elements of what is there', () => {
    expect(exposeHeaders(' ,ETag,, ', ['Retry-After'])).toBe('ETag, Retry-After')
    expect(exposeHeaders('', ['Retry-After'])).toBe('Retry-After')
  })
})

describe('headerPlan options', () => {
  function refusal(run: () => unknown): HeadgateError {
    try {
      run()
    } catch (error) {
      expect(error).toBeInstanceOf(HeadgateError)
      return error as HeadgateError
    }
    throw new Error('nothing was refused')
  }

  it.each([
    ['draft-6', 'draft-06'],
    ['draft-8', 'draft-08'],
    ['Draft-11', 'draft-11'],
    ['draft-12', 'draft-10'],
    ['x-ratelimit-githb', 'x-ratelimit-github'],
    ['non', 'none']
  ])('names the style near %s', (given, near) => {
    const error = refusal(() => headerPlan(given as HeaderStyleName))
    expect(error.code).toBe('HEADGATE_BAD_OPTION')
    expect(error.message).toContain('`headers`')
    expect(error.message).toContain(JSON.stringify(given))
    expect(error.message).toContain(`did you mean '${near}'`)
  })

  it.each([
    undefined,
    null,
    true,
    6,
    {},
    Symbol('draft-06'),
    '',
    'constructor',
    '__proto__',
    'x'.repeat(1e6),
    [],
    [undefined],
    [['draft-06']],
    ['draft-06', 'draft-06'],
    ['draft-03', 'draft-07'],
    ['draft-06', 'draft-11'],
    ['x-ratelimit-epoch', 'x-ratelimit-delta'],
    ['x-ratelimit-github', 'x-rate-limit-twitter', 'x-ratelimit-github'],
    ['none', 'draft-06']
  ])('refuses %s', (given) => {
    const error = refusal(() => headerPlan(given as unknown as HeaderStyleName))
    expect(error.code).toBe('HEADGATE_BAD_OPTION')
    expect(error.message).toContain('`headers`')
    expect(error.message.length).toBeLessThan(600)
  })

  it('takes legacy beside any and lists the fields in that order', () => {
    const plan = headerPlan(['x-ratelimit-delta', 'x-rate-limit-twitter', 'draft-11'])
    expect(plan.fields).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-Rate-Limit-Limit',
      'X-Rate-Limit-Remaining',
      'X-Rate-Limit-Reset',
      'RateLimit',
      'RateLimit-Policy'
    ])
    expect(plan.exposed).toEqual([...plan.fields, 'Retry-After'])
  })

  it('refuses an unknown Retry-After format and option', () => {
    const format = refusal(() => headerPlan('none', { retryAfterFormat: 'date' as RetryAfterFormat }))
    expect(format.code).toBe('HEADGATE_BAD_OPTION')
    expect(format.message).toContain('`retryAfterFormat` is "date"')
    const option = refusal(() => headersOf([], { stile: 'none' } as object))
    expect(option.code).toBe('HEADGATE_UNKNOWN_OPTION')
    expect(option.message).toContain('`style`')
  })
})

describe('rules beyond the vectors', () => {
  it('H3: keeps the policy, and in legacy the counts, when the reset is unknown', () => {
    const tiers = [quota({ resetMs: null })]
    expect(headersOf(tiers)).toEqual({ 'RateLimit-Policy': '10;w=60' })
    expect(headersOf(tiers, { style: 'draft-03' })).toEqual({})
    expect(headersOf(tiers, { style: 'draft-07' })).toEqual({ 'RateLimit-Policy': '10;w=60' })
    expect(headersOf(tiers, { style: 'x-ratelimit-epoch' })).toEqual({
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '4'
    })
  })

  it('H3: clamps before H9 compares quotas', () => {
    const tiers = [quota({ limit: 1e15 }), quota({ limit: 1e16, windowMs: 1_000 })]
    expect(headersOf(tiers)['RateLimit-Policy']).toBe('999999999999999;w=60')
  })

  it('H7: an unknown wait falls back to the reset, and to no Retry-After', () => {
    const denied = { allowed: false, remaining: 0, retryAfterMs: null }
    expect(headersOf([quota(denied)], { style: 'none' })).toEqual({ 'Retry-After': '5' })
    expect(headersOf([quota({ ...denied, resetMs: null })], { style: 'none' })).toEqual({})
    expect(retryAfterSeconds([quota(denied), quota({ ...denied, resetMs: null })])).toBeNull()
    expect(retryAfterSeconds([quota({})])).toBeNull()
  })

  it('H7: a date is a second ahead at least, and none past the year 9999', () => {
    const options = { style: 'none', nowMs: NOW, retryAfterFormat: 'http-date' } as const
    const denied = { allowed: false, remaining: 0 }
    const soon = headersOf([quota({ ...denied, retryAfterMs: 0 })], options)
    expect(soon).toEqual({ 'Retry-After': 'Sat, 23 May 2026 10:00:01 GMT' })
    for (const retryAfterMs of [3e14, 1e24, Infinity]) {
      expect(headersOf([quota({ ...denied, retryAfterMs })], options)).toEqual({})
    }
    expect(headersOf([quota({})], options)).toEqual({})
  })

  it('H8: a cost above the capacity, never admitted, names the reset and no Retry-After', () => {
    const never = quota({ allowed: false, remaining: 10, resetMs: 0, retryAfterMs: Infinity })
    expect(headersOf([never], { style: 'draft-11' })).toEqual({
      RateLimit: '"default";r=10;t=0',
      'RateLimit-Policy': '"default";q=10;w=60'
    })
  })

  it('H10: ties go to the denied, then the longest wait, then the first configured', () => {
    const longer = quota({ limit: 11, resetMs: 9_000 })
    const denied = quota({ limit: 12, resetMs: 9_000, retryAfterMs: 2_000, allowed: false })
    const deniedLonger = quota({ limit: 13, resetMs: 3_000, retryAfterMs: 3_000, allowed: false })
    const reported = (...tiers: Quota[]) => headersOf(tiers)['RateLimit-Limit']
    expect(reported(quota({}), longer, quota({ limit: 14, resetMs: 9_000 }))).toBe('11')
    expect(reported(longer, denied)).toBe('12')
    expect(reported(denied, deniedLonger, longer)).toBe('13')
    expect(reported(quota({ remaining: 1 }), denied)).toBe('10')
    expect(reported(quota({ limit: Infinity, remaining: 0 }), quota({}))).toBe('10')
  })

  it('H12: a partition key is left out of the styles before draft-08, and where it would void the field', () => {
    for (const style of ['draft-03', 'draft-06', 'draft-07', 'x-ratelimit-github'] as const) {
      expect(Object.values(headersOf([quota({ partitionKey: 'YQ==' })], { style })).join()).not.toContain(
        'YQ'
      )
    }
    for (const partitionKey of ['user-42', 'YQ', 'YR==', 'a:;r=0', 'YQ==\r\nX: 1', '-_-_']) {
      const headers = headersOf([quota({ partitionKey })], { style: 'draft-11' })
      expect(headers).toEqual(headersOf([quota({})], { style: 'draft-11' }))
    }
    const mixed = headersOf([quota({ name: 'a' }), quota({ name: 'b', partitionKey: '' })], {
      style: 'draft-11'
    })
    expect(mixed['RateLimit-Policy']).toBe('"a";q=10;w=60, "b";q=10;w=60;pk=::')
  })

  it('H15: epoch reset of a denied tier is the instant it is admitted', () => {
    const tiers = [quota({ allowed: false, remaining: 0, resetMs: 60_000, retryAfterMs: 600 })]
    const headers = headersOf(tiers, { style: 'x-rate-limit-twitter', nowMs: NOW + 500 })
    expect(headers['X-Rate-Limit-Reset']).toBe('1779530402')
    expect(headers['Retry-After']).toBe('1')
  })

  it('H6: a unit other than requests is a parameter, also when only the unit is new to the plan', () => {
    const plan = headerPlan('draft-11')
    const policies = (unit?: string) => {
      const out: string[] = []
      plan.fill([quota(unit === undefined ? {} : { unit })], NOW, out)
      return out[1]
    }
    expect(policies()).toBe('"default";q=10;w=60')
    expect(policies('content-bytes')).toBe('"default";q=10;qu="content-bytes";w=60')
    expect(policies('requests')).toBe('"default";q=10;w=60')
  })

  it('writes every field again, also where it is absent now', () => {
    for (const style of headerStyleNames) {
      const plan = headerPlan(style)
      const out: string[] = []
      plan.fill([quota({})], NOW, out)
      expect(out).toHaveLength(plan.fields.length)
      plan.fill([], NOW, out)
      expect(out).toEqual(plan.fields.map(() => ''))
    }
  })
})

const ms = fc.oneof(
  fc.integer({ min: 0, max: 10_000 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.double({ min: 0, max: 1e9, noNaN: true }),
  fc.constant(Infinity)
)
const units = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.maxSafeInteger(),
  fc.double({ min: -10, max: 1e22, noNaN: true })
)
const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 12
})

const anyQuota: fc.Arbitrary<Quota> = fc.record(
  {
    policy: fc.record(
      {
        name: fc.oneof(printable, fc.constantFrom('a', '"', '\\')),
        quotaWindowMs: fc.option(fc.oneof(fc.constantFrom(1, 1_000, 1_001, 60_000), fc.integer({ min: 1 }))),
        unit: fc.constantFrom('requests', 'content-bytes', 'a"b')
      },
      { requiredKeys: ['name', 'quotaWindowMs'] }
    ),
    limit: fc.oneof(fc.constantFrom(0, 1, 10, 100), units, fc.constant(Infinity)),
    remaining: units,
    resetMs: fc.option(ms),
    retryAfterMs: fc.option(ms),
    allowed: fc.boolean(),
    partitionKey: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  },
  { requiredKeys: ['policy', 'limit', 'remaining', 'resetMs', 'retryAfterMs', 'allowed'] }
)
const anyTiers = fc.array(anyQuota, { minLength: 1, maxLength: 4 })

/** The true time that the reset of a tier must not fall short of. */
function trueReset(tier: Quota): number {
  const wait = tier.allowed ? tier.resetMs : (tier.retryAfterMs ?? tier.resetMs)
  return (wait === Infinity ? tier.resetMs : wait) ?? Infinity
}

function isInteger(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 999_999_999_999_999
}

/** Every policy list: a canonical, non-empty List of unsigned Integers with a `w` above 0. */
function checkWindows(text: string | undefined, distinct: boolean): void {
  if (text === undefined) return
  const list = parseList(text)
  expect(serializeList(list)).toBe(text)
  expect(list.length).toBeGreaterThan(0)
  for (const [value, parameters] of list) {
    expect(isInteger(value)).toBe(true)
    expect(isInteger(parameters.get('w')) && (parameters.get('w') as number) > 0).toBe(true)
  }
  if (distinct) expect(new Set(list.map(([value]) => value)).size).toBe(list.length)
}

describe('every output is a structured field that tells no lie', () => {
  const finite = (tiers: readonly Quota[]) => tiers.filter((tier) => tier.limit !== Infinity)
  const least = (tiers: readonly Quota[]) =>
    Math.min(
      ...finite(tiers).map((tier) => Math.min(999_999_999_999_999, Math.max(0, Math.floor(tier.remaining))))
    )

  function checkReported(tiers: readonly Quota[], limit: unknown, remaining: unknown, reset: unknown): void {
    expect([limit, remaining, reset].every(isInteger)).toBe(true)
    expect(remaining).toBe(least(tiers))
    const candidates = finite(tiers).filter(
      (tier) =>
        Math.max(0, Math.floor(tier.remaining)) >= least(tiers) && trueReset(tier) <= (reset as number) * 1000
    )
    expect(candidates.length).toBeGreaterThan(0)
  }

  it.each(['draft-03', 'draft-04', 'draft-05', 'draft-06'] as const)('%s', (style) => {
    fc.assert(
      fc.property(anyTiers, (tiers) => {
        const headers = headersOf(tiers, { style, nowMs: NOW })
        checkWindows(headers['RateLimit-Policy'], true)
        const limits = headers['RateLimit-Limit']
        expect(headers['RateLimit-Remaining'] === undefined).toBe(limits === undefined)
        expect(headers['RateLimit-Reset'] === undefined).toBe(limits === undefined)
        if (limits === undefined) return
        const [limit, ...policies] = style === 'draft-03' ? parseList(limits) : [parseItem(limits)]
        if (policies.length > 0) checkWindows(serializeList(policies), false)
        const [remaining] = parseItem(headers['RateLimit-Remaining']!)
        checkReported(tiers, limit![0], remaining, parseItem(headers['RateLimit-Reset']!)[0])
      })
    )
  })

  it('draft-07', () => {
    fc.assert(
      fc.property(anyTiers, (tiers) => {
        const headers = headersOf(tiers, { style: 'draft-07', nowMs: NOW })
        checkWindows(headers['RateLimit-Policy'], true)
        if (headers.RateLimit === undefined) return
        const dictionary = parseDictionary(headers.RateLimit)
        expect([...dictionary.keys()]).toEqual(['limit', 'remaining', 'reset'])
        const [limit, remaining, reset] = [...dictionary.values()].map(([value]) => value)
        checkReported(tiers, limit, remaining, reset)
      })
    )
  })

  it.each(['draft-08', 'draft-09', 'draft-10', 'draft-11'] as const)('%s', (style) => {
    fc.assert(
      fc.property(anyTiers, (tiers) => {
        const headers = headersOf(tiers, { style, nowMs: NOW })
        const stated = finite(tiers)
        expect('RateLimit' in headers).toBe(stated.length > 0)
        expect('RateLimit-Policy' in headers).toBe(stated.length > 0)
        if (stated.length === 0) return
        const quotas = parseList(headers.RateLimit!)
        const policies = parseList(headers['RateLimit-Policy']!)
        expect(serializeList(quotas)).toBe(headers.RateLimit)
        expect(serializeList(policies)).toBe(headers['RateLimit-Policy'])
        expect(quotas.map(([name]) => name)).toEqual(stated.map((tier) => tier.policy.name))
        expect(policies.map(([name]) => name)).toEqual(stated.map((tier) => tier.policy.name))
        for (const [i, tier] of stated.entries()) {
          const state = quotas[i]![1]
          const policy = policies[i]![1]
          expect(isInteger(state.get('r')) && isInteger(policy.get('q'))).toBe(true)
          expect(policy.has('w')).toBe(tier.policy.quotaWindowMs !== null)
          expect(policy.get('w') ?? 1).toBeGreaterThan(0)
          const t = state.get('t') as number | undefined
          if (t === undefined) expect(trueReset(tier)).toBe(Infinity)
          else expect(isInteger(t) && t * 1000 >= trueReset(tier)).toBe(true)
          expect(state.has('pk')).toBe(tier.partitionKey !== undefined)
          expect(policy.get('pk')).toEqual(state.get('pk'))
        }
      })
    )
  })

  it('legacy: digits only, epoch not before the true instant', () => {
    fc.assert(
      fc.property(anyTiers, fc.integer({ min: NOW, max: NOW + 9_999 }), (tiers, nowMs) => {
        const github = headersOf(tiers, { style: 'x-ratelimit-github', nowMs })
        const delta = headersOf(tiers, { style: 'x-ratelimit-delta', nowMs })
        for (const [name, value] of Object.entries(github)) {
          if (name !== 'X-RateLimit-Resource') expect(value).toMatch(/^\d{1,15}$|GMT$/)
        }
        if (delta['X-RateLimit-Reset'] === undefined || github['X-RateLimit-Reset'] === undefined) return
        const ahead = Number(github['X-RateLimit-Reset']) * 1000 - nowMs
        expect(ahead).toBeGreaterThan((Number(delta['X-RateLimit-Reset']) - 1) * 1000)
      })
    )
  })

  it('a client that waits Retry-After out is admitted by every tier', () => {
    fc.assert(
      fc.property(anyTiers, (tiers) => {
        const waits = tiers
          .filter((tier) => !tier.allowed)
          .map((tier) => tier.retryAfterMs ?? tier.resetMs ?? Infinity)
        const delay = headersOf(tiers, { style: 'none' })['Retry-After']
        const date = headersOf(tiers, { style: 'none', nowMs: NOW, retryAfterFormat: 'http-date' })[
          'Retry-After'
        ]
        expect(delay === undefined).toBe(waits.length === 0 || waits.includes(Infinity))
        if (delay === undefined) return
        expect(delay).toMatch(/^[1-9]\d*$/)
        expect(Number(delay)).toBe(retryAfterSeconds(tiers))
        expect(Number(delay) * 1000).toBeGreaterThanOrEqual(Math.max(...waits))
        if (date !== undefined) expect(Date.parse(date) - NOW).toBeGreaterThanOrEqual(Math.max(...waits))
      })
    )
  })

  it('one plan used for many answers writes what a new plan writes', () => {
    const few = fc.array(fc.tuple(fc.nat(3), fc.nat(3)), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(fc.array(anyTiers, { minLength: 4, maxLength: 4 }), few, (pool, order) => {
        for (const style of headerStyleNames) {
          const plan = headerPlan(style)
          for (const [which, changed] of order) {
            const tiers = pool[which]!.map((tier, i) =>
              i === changed ? { ...tier, limit: tier.limit + 1 } : tier
            )
            const [kept, fresh]: string[][] = [[], []]
            plan.fill(tiers, NOW, kept!)
            headerPlan(style).fill(tiers, NOW, fresh!)
            expect(kept).toEqual(fresh)
          }
        }
      }),
      { numRuns: 50 }
    )
  })
})
