import { describe, expect, it } from 'vitest'
import { type HeaderStyleName, headerStyleNames } from '../../../../src/http/headers/index.js'
import { header, quotaFields } from '../client.js'
import { type Framework, manualClock, servers } from '../harness.js'

/** 23.5 days before the end of November in Berlin. */
const now = Date.parse('2023-11-07T11:00Z')
const left = (Date.parse('2023-11-30T23:00Z') - now) / 1000
const month = 31 * 86_400

const draft06 = {
  'RateLimit-Policy': `1;w=${month}`,
  'RateLimit-Limit': '1',
  'RateLimit-Remaining': '0',
  'RateLimit-Reset': String(left)
}

const draft11 = {
  RateLimit: `"default";r=0;t=${left}`,
  'RateLimit-Policy': `"default";q=1;w=${month}`
}

const epoch = { 'X-RateLimit-Reset': String(now / 1000 + left) }

/** What a style says of 1 unit a month that is gone: how long it is to the true end. */
const said: Record<HeaderStyleName, Record<string, string>> = {
  'draft-03': {
    'RateLimit-Limit': `1, 1;w=${month}`,
    'RateLimit-Remaining': '0',
    'RateLimit-Reset': String(left)
  },
  'draft-04': draft06,
  'draft-05': draft06,
  'draft-06': draft06,
  'draft-07': { RateLimit: `limit=1, remaining=0, reset=${left}`, 'RateLimit-Policy': `1;w=${month}` },
  'draft-08': draft11,
  'draft-09': draft11,
  'draft-10': draft11,
  'draft-11': draft11,
  'x-ratelimit-github': epoch,
  'x-ratelimit-epoch': epoch,
  'x-ratelimit-delta': { 'X-RateLimit-Reset': String(left) },
  'x-rate-limit-twitter': { 'X-Rate-Limit-Reset': String(now / 1000 + left) },
  none: {}
}

/** Windows of the calendar. */
export function calendar(framework: Framework): void {
  const run = servers(framework)
  const monthly = { limit: 1, window: 'month', timeZone: 'Europe/Berlin' } as const

  it.each(headerStyleNames)('says how long the month lasts: %s', async (headers) => {
    const clock = manualClock(now)
    const app = await run({ global: { ...monthly, headers, now: clock.read } })
    const passed = await app.get()
    expect(passed.status).toBe(200)
    const denied = await app.get()
    expect(denied.status).toBe(429)
    expect(header(denied, 'Retry-After')).toBe(String(left))
    for (const answer of [passed, denied])
      for (const [name, text] of Object.entries(said[headers])) expect(header(answer, name), name).toBe(text)
    if (headers === 'none') expect(quotaFields(passed)).toEqual([])
    clock.pass(left * 1000 - 1)
    expect((await app.get()).status).toBe(429)
    clock.pass(1)
    expect((await app.get()).status).toBe(200)
  })

  describe('computed', () => {
    it('a limit, in a month', async () => {
      const clock = manualClock(now)
      const app = await run({
        global: { ...monthly, limit: ({ headers }) => Number(headers['x-limit']), now: clock.read }
      })
      const ask = async (limit: string) => (await app.get('/', { 'x-limit': limit })).status
      expect([await ask('2'), await ask('2'), await ask('2'), await ask('3')]).toEqual([200, 200, 429, 200])
      clock.pass(left * 1000)
      expect([await ask('1'), await ask('1'), await ask('0')]).toEqual([200, 429, 429])
    })

    it('a window, of the calendar or not', async () => {
      const clock = manualClock(now)
      const app = await run({
        global: {
          ...{ limit: 1, timeZone: 'Europe/Berlin', startsOn: 10, now: clock.read },
          window: ({ headers }) => String(headers['x-window'])
        }
      })
      const wait = async (window: string) => {
        await app.get('/', { 'x-window': window })
        return Number(header(await app.get('/', { 'x-window': window }), 'Retry-After'))
      }
      expect(await wait('1m')).toBe(60)
      expect(await wait('day')).toBe(12 * 3600)
      expect(await wait('week')).toBe((5 * 24 + 12) * 3600)
      expect(await wait('month')).toBe((2 * 24 + 12) * 3600)
    })
  })
}
