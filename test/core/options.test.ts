import { describe, expect, it } from 'vitest'
import { shown } from '../../src/core/options.js'
import { createLimiter, HeadgateError, type LimiterOptions, memoryStore } from '../../src/index.js'
import { naming } from '../support/errors.js'

const good = { limit: 10, window: '1m' }
const make = (options: object) => () => createLimiter(options as LimiterOptions)

describe('CFG-01: a limit of 0', () => {
  it('throws and says how to deny everybody or to switch off', () => {
    expect(make({ ...good, limit: 0 })).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', '0', 'deny', 'skip'))
    expect(make({ limits: [{ ...good, limit: 0 }] })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`limit`', '0', 'deny')
    )
  })
})

describe('CFG-02: impossible options fail at construction', () => {
  it.each([
    Number.NaN,
    -1,
    1.5,
    '5x',
    '',
    ' ',
    undefined,
    null,
    Infinity,
    -Infinity,
    2 ** 53,
    true,
    {},
    [],
    [5],
    5n
  ])('limit %o', (limit) => {
    expect(make({ ...good, limit })).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', shown(limit)))
    expect(make({ limits: [good, { ...good, limit }] })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`limit`', shown(limit))
    )
  })

  it.each(['5', '0x10', '1e3', ' 7 '])('limit %o, a number as a text, is not coerced', (limit) => {
    expect(make({ ...good, limit })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`limit`', `${Number(limit)}`, 'number')
    )
  })

  it.each([
    ...[
      Number.NaN,
      -5,
      1.5,
      Infinity,
      -Infinity,
      2 ** 53,
      '5',
      '60',
      '',
      ' ',
      'soon',
      '1 fortnight',
      '-1s',
      '0s',
      '0.5ms'
    ],
    ...[
      '1m 30s',
      '1mm',
      'm',
      'Infinitys',
      'NaNs',
      '9e99y',
      's'.repeat(101),
      null,
      undefined,
      true,
      {},
      [],
      5n
    ]
  ])('window %o', (window) => {
    expect(make({ ...good, window })).toThrow(naming('HEADGATE_BAD_OPTION', '`window`', shown(window)))
    expect(make({ limits: [good, { limit: 5, window }] })).toThrow(naming('HEADGATE_BAD_OPTION', '`window`'))
  })

  it('CFG-04: window 0', () => {
    for (const store of [undefined, memoryStore()])
      expect(make({ limit: 1, window: 0, store })).toThrow(naming('HEADGATE_BAD_OPTION', '`window`', '0'))
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity, '5', null, {}])('burst %o', (burst) => {
    for (const strategy of ['token-bucket', 'gcra'])
      expect(make({ ...good, strategy, burst })).toThrow(
        naming('HEADGATE_BAD_OPTION', '`burst`', shown(burst))
      )
  })

  it('burst and delayAfter of a leaky bucket may be 0, and nothing less', () => {
    const leaky = { ...good, strategy: 'leaky-bucket' }
    expect(make({ ...leaky, burst: 0, delayAfter: 0 })).not.toThrow()
    for (const option of ['burst', 'delayAfter'])
      for (const value of [-1, 0.5, Number.NaN, '1', null, Infinity])
        expect(make({ ...leaky, [option]: value })).toThrow(naming('HEADGATE_BAD_OPTION', `\`${option}\``))
  })

  it.each(['clocks', '', 0, null, true])('align %o', (align) => {
    expect(make({ ...good, align })).toThrow(naming('HEADGATE_BAD_OPTION', '`align`', shown(align)))
  })

  it('an option that the strategy has no meaning for', () => {
    for (const [strategy, option, value] of [
      ['fixed-window', 'burst', 5],
      ['sliding-window', 'align', 'clock'],
      ['sliding-log', 'burst', 5],
      ['token-bucket', 'align', 'clock'],
      ['gcra', 'delayAfter', 1],
      ['leaky-bucket', 'align', 'clock']
    ] as const)
      expect(make({ ...good, strategy, [option]: value }), strategy).toThrow(
        naming('HEADGATE_BAD_OPTION', `\`${option}\``, strategy)
      )
  })

  it.each([0, -1, 1.5, 'soon', '5', Infinity, Number.NaN, null, true, {}])('block %o', (block) => {
    expect(make({ ...good, block })).toThrow(naming('HEADGATE_BAD_OPTION', '`block`'))
  })

  it.each([0, 1, 'true', null, {}])('countDenied %o', (countDenied) => {
    expect(make({ ...good, countDenied })).toThrow(naming('HEADGATE_BAD_OPTION', '`countDenied`'))
  })

  it.each([0, 'now', null, {}, new Date(0)])('now %o', (now) => {
    expect(make({ ...good, now })).toThrow(naming('HEADGATE_BAD_OPTION', '`now`'))
  })

  it.each([0, 'redis', null, {}, memoryStore])('store %o', (store) => {
    expect(make({ ...good, store })).toThrow(naming('HEADGATE_BAD_OPTION', '`store`'))
  })

  it.each([[[]], [null], [{}], ['10/s'], [5]])('limits %o', (limits: unknown) => {
    expect(make({ limits })).toThrow(naming('HEADGATE_BAD_OPTION', '`limits`'))
  })

  it.each([[null], [undefined], [5], ['x'], [[]]])('a tier that is %o', (tier) => {
    expect(make({ limits: [tier] })).toThrow(HeadgateError)
    expect(make({ limits: [good, tier] })).toThrow(HeadgateError)
  })

  it.each([[undefined], [null], [5], ['x'], [() => good], [[]]])('options that are %o', (options) => {
    expect(make(options as object)).toThrow(HeadgateError)
  })

  it.each([null, undefined])('no fix that cannot be: window %o has no default', (window) => {
    expect(make({ limit: 5, window })).toThrow(naming('HEADGATE_BAD_OPTION', '`window`', "'15m'"))
  })

  it.each([null, 5, true, {}, { check: () => true, charge: () => undefined }, () => 0])(
    'strategy %o',
    (strategy) => {
      expect(make({ ...good, strategy })).toThrow(naming('HEADGATE_BAD_OPTION', 'strategy'))
    }
  )

  it('products that a double does not hold exactly', () => {
    const day = 86_400_000
    for (const strategy of ['sliding-window', 'token-bucket', 'gcra']) {
      const most = Math.floor(Number.MAX_SAFE_INTEGER / day)
      expect(make({ strategy, limit: most, window: day })).not.toThrow()
      expect(make({ strategy, limit: most + 1, window: day })).toThrow(
        naming('HEADGATE_BAD_OPTION', '`limit`', '2^53')
      )
    }
    for (const strategy of ['token-bucket', 'gcra', 'leaky-bucket'])
      expect(make({ strategy, limit: 1, burst: 1e9, window: day })).toThrow(
        naming('HEADGATE_BAD_OPTION', '`burst`')
      )
  })
})
