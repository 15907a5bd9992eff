import { describe, expect, it, vi } from 'vitest'
import { rateLimit } from '../../../src/express/index.js'
import { createLimiter, memoryStore } from '../../../src/index.js'

const ban = { after: 5, within: '10m', for: '1h', growth: 2, max: '1d', forget: '2d' }
const made = (options: unknown) =>
  createLimiter({ limit: 1, window: '1m', ban: options, now: () => 0 } as never)

describe('the option `ban`', () => {
  it.each([
    [{ after: 5, for: '1h' }],
    [ban],
    [{ after: 1, for: 1000, growth: 1.5 }],
    [{ after: 5, for: '90d', growth: 2 }],
    [undefined]
  ])('takes %o', (options) => {
    expect(() => made(options)).not.toThrow()
  })

  it.each([
    [3, '`ban` is 3: give { after, for }'],
    ['1h', '`ban` is "1h": give { after, for }'],
    [[ban], '`ban` is an array of 1: give { after, for }'],
    [null, '`ban` is null'],
    [{ for: '1h' }, '`ban.after` is undefined: give a whole number of at least 1'],
    [{ after: 5 }, '`ban.for` is undefined: give a positive whole number of milliseconds'],
    [{ ...ban, after: 0 }, '`ban.after` is 0'],
    [{ ...ban, after: '5' }, 'write it as a number, 5'],
    [{ ...ban, after: null }, '`ban.after` is null'],
    [{ ...ban, for: '1' }, '`ban.for` is "1": it has no unit'],
    [{ ...ban, for: Number.POSITIVE_INFINITY }, '`ban.for` is Infinity'],
    [{ ...ban, for: '20y' }, "the longest is ten years, '3650d'; `block(key, Infinity)` has no end"],
    [{ ...ban, within: 0 }, '`ban.within` is 0'],
    [{ ...ban, growth: 0.5 }, '`ban.growth` is 0.5: give a number from 1 to 1000'],
    [{ ...ban, growth: Number.NaN }, '`ban.growth` is NaN'],
    [{ ...ban, growth: '2' }, '`ban.growth` is "2"'],
    [{ ...ban, max: '30m' }, '`ban.max` is "30m": it is shorter than `for`'],
    [{ after: 5, for: '1h', max: '1d' }, '`ban.max` is "1d": it is about bans that grow'],
    [{ after: 5, for: '1h', forget: '1d' }, '`ban.forget` is "1d": it is about bans that grow'],
    [{ ...ban, forgett: '1d' }, '`forgett` is no option of `ban`: did you mean `forget`?'],
    [{ ...ban, bantime: '1d' }, '`bantime` is no option of `ban`']
  ])('refuses %o', (options, message) => {
    expect(() => made(options)).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^HEADGATE_(BAD|UNKNOWN)_OPTION$/),
        message: expect.stringContaining(message)
      })
    )
  })

  it('is refused beside `block`, and says what to write', () => {
    expect(() => createLimiter({ limit: 1, window: '1m', block: '1h', ban } as never)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining('write `ban: { after: 1, for }`')
      })
    )
  })

  it('is what the names of others lead to', () => {
    for (const name of ['banTime', 'maxRetry', 'findtime', 'maxViolations', 'exponentialBackoff'])
      expect(() => rateLimit({ limit: 1, window: '1m', [name]: 5 } as never), name).toThrow('`ban: {')
  })

  it('warns of seconds that are meant as milliseconds, and of what counts in flight alone', () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    createLimiter({ limit: 1, window: '1m', ban: { after: 5, for: 62 } })
    createLimiter({ concurrency: 3, ban: { after: 5, for: '62m' } })
    const said = warnings.mock.calls.map(([message]) => String(message))
    warnings.mockRestore()
    expect(said).toEqual([
      expect.stringContaining("`ban.for: 62` is 62 milliseconds. For seconds write `ban.for: '62s'`"),
      expect.stringContaining('`ban` of a limiter does nothing: it is about windows')
    ])
  })
})

describe('keys that are banned', () => {
  const at = { time: 1_700_000_000_000 }
  const now = () => at.time

  it('are as many as the store keeps: others are denied, and not banned', () => {
    const limiter = createLimiter({
      ...{ limit: 1, window: '1s', now, store: memoryStore({ maxKeys: 50 }) },
      ban: { after: 1, for: '1h' }
    })
    for (let i = 0; i < 500; i++) for (let n = 0; n < 2; n++) limiter.consume(`key ${i}`)
    const { bans, next } = limiter.bans({ limit: 10_000 })
    expect([bans.length, next]).toEqual([50, null])
    expect(limiter.consume('key 49').retryAfterMs).toBe(3_600_000)
    expect(limiter.consume('key 499')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    at.time += 3_600_000
    limiter.consume('key 499')
    expect(limiter.consume('key 499').retryAfterMs).toBe(3_600_000)
  })

  it('are no strangers whose denials were not kept: nobody is banned for what others did', () => {
    const limiter = createLimiter({
      ...{ limit: 1, window: '1h', now, store: memoryStore({ maxKeys: 8 }) },
      ban: { after: 3, within: '1h', for: '2h' }
    })
    for (let i = 0; i < 1000; i++) for (let n = 0; n < 2; n++) limiter.consume(`key ${i}`)
    expect(limiter.bans().bans).toEqual([])
    for (let i = 0; i < 1000; i++)
      expect(limiter.consume(`new ${i}`).retryAfterMs).toBeLessThanOrEqual(3_600_000)
    expect(limiter.bans().bans).toEqual([])
  })

  it('are denied permits, and denials for want of permits ban nobody', () => {
    const ban = { after: 2, for: '1h' }
    const limiter = createLimiter({
      limits: [{ concurrency: 1 }, { limit: 3, window: '1m' }],
      ...{ ban, now }
    })
    const permit = limiter.acquire('key')
    for (let i = 0; i < 9; i++) expect(limiter.acquire('key').allowed).toBe(false)
    permit.release()
    for (let i = 0; i < 2; i++) limiter.acquire('key').release()
    expect([0, 1].map(() => limiter.acquire('key').retryAfterMs).at(-1)).toBe(3_600_000)
    expect(limiter.acquire('key')).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 })
  })

  it('are listed in the order of their keys, whatever is banned meanwhile', () => {
    const limiter = createLimiter({ limit: 1, window: '1s', now })
    const keys = Array.from({ length: 1000 }, (_, i) => `k${(i * 7919) % 1000}`)
    for (const key of keys) limiter.block(key, '1h')
    const seen: string[] = []
    let after: string | null = null
    do {
      const page: ReturnType<typeof limiter.bans> = limiter.bans({ after, limit: 33 })
      seen.push(...page.bans.map(({ key }) => key))
      after = page.next
      limiter.reset(seen.at(-1)!)
      limiter.block('a', '1h')
    } while (after !== null)
    expect(seen).toEqual([...keys].sort())
  })
})
