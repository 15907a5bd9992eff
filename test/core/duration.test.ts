import { describe, expect, it } from 'vitest'
import { durationMs, durationText } from '../../src/core/duration.js'

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

  it('reads back from its shortest text', () => {
    for (const ms of [1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 2_592_000_000])
      expect(durationMs('window', durationText(ms))).toBe(ms)
  })
})
