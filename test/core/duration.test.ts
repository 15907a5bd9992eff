import { describe, expect, it } from 'vitest'
import { durationMs, durationText } from '../../src/core/duration.js'
import { naming } from '../support/errors.js'

describe('a duration', () => {
  it.each([
    [1, 1],
    ['500ms', 500],
    ['1.5s', 1500],
    ['30s', 30_000],
    ['15m', 900_000],
    ['1 minute', 60_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['30 days', 2_592_000_000],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  ])('%s is %i ms', (text, ms) => {
    expect(durationMs('window', text)).toBe(ms)
  })

  it.each([
    ['SECONDS', 'a unit needs its number'],
    ['minute', 'a unit needs its number'],
    [' ms ', 'a unit needs its number'],
    ['5 fortnights', "'fortnights' is no unit"],
    ['1 mo', "'mo' is no unit"],
    ['60', "it has no unit: write '60s' or '60m'"],
    ['0.5ms', 'a positive whole number of milliseconds'],
    ['-5s', 'a positive whole number of milliseconds'],
    ['PT1M', 'a positive whole number of milliseconds'],
    ['', 'a positive whole number of milliseconds'],
    [0, 'a positive whole number of milliseconds']
  ])('%j is refused: %s', (text, fix) => {
    expect(() => durationMs('window', text)).toThrow(naming('HEADGATE_BAD_OPTION', '`window`', fix))
  })

  it('has its units in any case', () => {
    expect(['1 SECONDS', '5 Min', '2H'].map((text) => durationMs('window', text))).toEqual([
      1000, 300_000, 7_200_000
    ])
  })

  it('reads back from its shortest text', () => {
    for (const ms of [1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 2_592_000_000])
      expect(durationMs('window', durationText(ms))).toBe(ms)
  })
})
