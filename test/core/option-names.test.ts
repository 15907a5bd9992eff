import { describe, expect, it } from 'vitest'
import { errorCodes } from '../../src/core/errors.js'
import { checkNames, nearest } from '../../src/core/options.js'
import {
  createLimiter,
  defineStrategy,
  HeadgateError,
  type LimiterOptions,
  memoryStore
} from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { naming } from '../support/errors.js'

const good = { limit: 10, window: '1m' }
const make = (options: object) => () => createLimiter(options as LimiterOptions)

describe('unknown names', () => {
  it.each([
    ['windowSec', '`window`'],
    ['windowMs', '`window`'],
    ['max', '`limit`'],
    ['limt', '`limit`'],
    ['Limit', '`limit`'],
    ['startegy', '`strategy`'],
    ['brust', '`burst`'],
    ['delayafter', '`delayAfter`'],
    ['countdenied', '`countDenied`'],
    ['blockDuration', '`block`'],
    ['keyPrefix', '`name`'],
    ['__proto', '`'],
    ['constructor', '`'],
    ['toString', '`'],
    ['zzzzzzzzzzzzzzzz', 'known are']
  ])('%s is refused with a hint: %s', (name, hint) => {
    const options = JSON.parse(`{"limit":10,"window":"1m","${name}":5}`)
    expect(make(options)).toThrow(naming('HEADGATE_UNKNOWN_OPTION', `\`${name}\``, hint))
  })

  it('are refused in a tier, and beside `limits`', () => {
    expect(make({ limits: [{ ...good, blok: 1 }] })).toThrow(naming('HEADGATE_UNKNOWN_OPTION', '`blok`'))
    expect(make({ limits: [good], limit: 5 })).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', '`limits`'))
  })

  it.each([
    ['fixed-windows', 'fixed-window'],
    ['slidinglog', 'sliding-log'],
    ['tokenbucket', 'token-bucket'],
    ['GCRA', 'gcra'],
    ['leaky', 'leaky-bucket']
  ])('strategy %s is refused: %s', (strategy, near) => {
    expect(make({ ...good, strategy })).toThrow(
      naming('HEADGATE_UNKNOWN_STRATEGY', `'${strategy}'`, `'${near}'`)
    )
  })

  it('may be as long as they like', () => {
    const start = process.cpuUsage()
    expect(make({ ...good, ['x'.repeat(1_000_000)]: 1 })).toThrow(naming('HEADGATE_UNKNOWN_OPTION'))
    expect(make({ ...good, strategy: 'y'.repeat(1_000_000) })).toThrow(naming('HEADGATE_UNKNOWN_STRATEGY'))
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000)
    expect(nearest('limitt', ['limit', 'window'])).toBe('limit')
    expect(() => checkNames({ a: 1 }, ['a'], 'x')).not.toThrow()
  })
})

describe('what is undefined', () => {
  it('is as if it were left out, as the types allow', () => {
    const unset = {
      name: undefined,
      strategy: undefined,
      burst: undefined,
      align: undefined,
      delayAfter: undefined
    }
    const settings = { store: undefined, now: undefined, countDenied: undefined, block: undefined }
    expect(make({ ...good, ...unset, ...settings, limits: undefined })).not.toThrow()
    expect(make({ limits: [{ ...good, ...unset }], ...settings })).not.toThrow()
  })
})

describe('options', () => {
  it('are not changed, and later changes to them change nothing', () => {
    const options = { ...good, limit: 1, now: () => 5000 }
    const limits = [{ ...good }, { limit: 5, window: '1h' }]
    const before = JSON.stringify([options, limits])
    const limiter = createLimiter(options)
    createLimiter({ limits })
    expect(JSON.stringify([options, limits])).toBe(before)
    options.limit = 100
    expect([limiter.consume('key').allowed, limiter.consume('key').allowed]).toEqual([true, false])
  })

  it('may come frozen or without a prototype', () => {
    expect(make(Object.freeze({ ...good }))).not.toThrow()
    expect(make(Object.assign(Object.create(null), good))).not.toThrow()
  })
})

describe('errors', () => {
  it('have codes that are all documented', () => {
    for (const [code, text] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^HEADGATE_[A-Z_]+$/)
      expect(text.length).toBeGreaterThan(20)
    }
    const error = new HeadgateError('HEADGATE_BAD_KEY', 'text')
    expect([error instanceof Error, error.name, error.code, error.message]).toEqual([
      true,
      'HeadgateError',
      'HEADGATE_BAD_KEY',
      'text'
    ])
  })

  it('show a value shortly, and never run its code', () => {
    const hostile = { toString: () => expect.fail('ran'), toJSON: () => expect.fail('ran') }
    expect(make({ ...good, limit: hostile })).toThrow(HeadgateError)
    expect(make({ ...good, limit: 'x'.repeat(10_000) })).toThrow(/^.{0,300}$/)
    expect(() => defineStrategy(null as never)).toThrow(HeadgateError)
    expect(() => buildLimiter(null as never, memoryStore)).toThrow(HeadgateError)
  })
})
