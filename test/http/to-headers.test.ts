import { createServer } from 'node:http'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { createLimiter, toHeaders } from '../../src/index.js'
import { Client, header, quotaFields } from './behaviour/client.js'
import { manualClock, start } from './behaviour/harness.js'

describe('toHeaders', () => {
  it('gives the default fields of a decision, and Retry-After where it denies', () => {
    const limiter = createLimiter({ limit: 1, window: '1m', now: () => start })
    const fields = {
      'RateLimit-Policy': '1;w=60',
      'RateLimit-Limit': '1',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '60'
    }
    expect(toHeaders(limiter.consume('k'))).toEqual(fields)
    expect(toHeaders(limiter.consume('k'))).toEqual({ ...fields, 'Retry-After': '60' })
  })

  it('tells of all tiers, and by other styles', () => {
    const limiter = createLimiter({
      limits: [
        { limit: 10, window: '1s' },
        { limit: 1000, window: '1h' }
      ],
      now: () => start
    })
    const decision = limiter.consume('k')
    expect(toHeaders(decision)).toEqual({
      'RateLimit-Policy': '10;w=1, 1000;w=3600',
      'RateLimit-Limit': '10',
      'RateLimit-Remaining': '9',
      'RateLimit-Reset': '1'
    })
    expect(toHeaders(decision, { style: 'draft-11' })).toEqual({
      RateLimit: '"10-per-1s";r=9;t=1, "1000-per-1h";r=999;t=3600',
      'RateLimit-Policy': '"10-per-1s";q=10;w=1, "1000-per-1h";q=1000;w=3600'
    })
    expect(toHeaders(decision, { style: ['draft-07', 'x-ratelimit-epoch'], nowMs: start })).toEqual({
      RateLimit: 'limit=10, remaining=9, reset=1',
      'RateLimit-Policy': '10;w=1, 1000;w=3600',
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '9',
      'X-RateLimit-Reset': String(start / 1000 + 1)
    })
  })

  it('does without the policy, where a decision was copied or came over a wire', () => {
    const limiter = createLimiter({ limit: 5, window: '1m', now: () => start })
    const copied = JSON.parse(JSON.stringify(limiter.consume('k')))
    expect(toHeaders(copied)).toEqual({
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '4',
      'RateLimit-Reset': '60'
    })
    expect(parseList(toHeaders(copied, { style: 'draft-11' }).RateLimit!)).toEqual([
      [
        'default',
        new Map([
          ['r', 4],
          ['t', 60]
        ])
      ]
    ])
    expect(toHeaders({ ...limiter.consume('k') })).toMatchObject({ 'RateLimit-Remaining': '3' })
  })

  it('says no wait that helps nobody', () => {
    const limiter = createLimiter({ limit: 5, window: '1m', now: () => start })
    const fields = toHeaders(limiter.consume('k', 6))
    expect(fields['Retry-After']).toBeUndefined()
    expect(JSON.stringify(fields)).not.toMatch(/Infinity|NaN|null|undefined/)
  })

  it('a peek, a refund and a reset are told as they stand', () => {
    const limiter = createLimiter({ limit: 5, window: '1m', now: () => start })
    limiter.consume('k', 3)
    expect(toHeaders(limiter.peek('k'))['RateLimit-Remaining']).toBe('2')
    limiter.refund('k', 2)
    expect(toHeaders(limiter.peek('k'))['RateLimit-Remaining']).toBe('4')
    limiter.reset('k')
    expect(toHeaders(limiter.peek('k'))).toMatchObject({ 'RateLimit-Remaining': '5', 'RateLimit-Reset': '0' })
  })

  it('a block is told, one without end without a wait', () => {
    const clock = manualClock()
    const limiter = createLimiter({ limit: 5, window: '1m', now: clock.read })
    limiter.block('k', '10m')
    clock.pass(400)
    expect(toHeaders(limiter.consume('k'))).toMatchObject({
      'RateLimit-Remaining': '0',
      'Retry-After': '600'
    })
    limiter.block('k', Number.POSITIVE_INFINITY)
    expect(toHeaders(limiter.consume('k'))['Retry-After']).toBeUndefined()
  })

  it('Retry-After is right for the date form', () => {
    const limiter = createLimiter({ limit: 1, window: '10s', now: () => start + 400 })
    limiter.consume('k')
    expect(
      toHeaders(limiter.consume('k'), { retryAfterFormat: 'http-date', nowMs: start + 400 })['Retry-After']
    ).toBe(new Date(start + 10_000).toUTCString())
  })

  it.each([
    [{ style: 'draft-6' }, 'HEADGATE_BAD_OPTION'],
    [{ style: [] }, 'HEADGATE_BAD_OPTION'],
    [{ styles: 'draft-06' }, 'HEADGATE_UNKNOWN_OPTION'],
    [{ headers: 'draft-06' }, 'HEADGATE_UNKNOWN_OPTION'],
    [{ style: ['draft-06', 'draft-11'] }, 'HEADGATE_BAD_OPTION'],
    [{ retryAfterFormat: 'date' }, 'HEADGATE_BAD_OPTION']
  ])('refuses %j', (options, code) => {
    const limiter = createLimiter({ limit: 1, window: '1m' })
    expect(() => toHeaders(limiter.consume('k'), options as never)).toThrowError(
      expect.objectContaining({ code })
    )
  })

  it('returns an object of its own each time', () => {
    const limiter = createLimiter({ limit: 5, window: '1m', now: () => start })
    const first = toHeaders(limiter.consume('k'))
    first['RateLimit-Limit'] = 'changed'
    expect(toHeaders(limiter.consume('k'))).toMatchObject({
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '3'
    })
  })

  it('serves a bare server', async () => {
    const limiter = createLimiter({ limit: 1, window: '1m', now: () => start })
    const server = createServer((_request, response) => {
      const decision = limiter.consume('k')
      response.writeHead(decision.allowed ? 200 : 429, toHeaders(decision)).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = new Client({ port: (server.address() as { port: number }).port })
    await client.get()
    const denied = await client.get()
    client.close()
    server.close()
    expect([denied.status, header(denied, 'Retry-After')]).toEqual([429, '60'])
    expect(quotaFields(denied)).toHaveLength(5)
  })
})
