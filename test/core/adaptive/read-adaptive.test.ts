import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { aimd } from '../../../src/core/adaptive/aimd.js'
import { gradient } from '../../../src/core/adaptive/gradient.js'
import { readAdaptive } from '../../../src/core/adaptive/read-adaptive.js'

const docs = readFileSync(new URL('../../../docs/adaptive.md', import.meta.url), 'utf8')

const read = (value: unknown) => readAdaptive('concurrency', value)

describe('readAdaptive', () => {
  it('fills in the defaults', () => {
    const { algorithm, rule } = read({ adaptive: 'gradient' })
    expect(algorithm).toBe(gradient)
    expect(rule).toMatchObject({ min: 1, max: 1000, initial: 20, tolerance: 1.5, timeoutMs: Infinity })
    expect(read({ adaptive: 'aimd' })).toMatchObject({ algorithm: aimd, rule: { timeoutMs: 5000 } })
  })

  it('keeps what is given', () => {
    const { rule } = read({
      adaptive: 'gradient',
      min: 5,
      max: 50,
      initial: 10,
      timeout: '2s',
      tolerance: 2
    })
    expect(rule).toMatchObject({ min: 5, max: 50, initial: 10, timeoutMs: 2000, tolerance: 2 })
  })

  it('knows what the table of the docs has, and nothing else', () => {
    const named = [...docs.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)
    expect(() => read({ other: 1 })).toThrow(`known are ${named.map((name) => `\`${name}\``).join(', ')}.`)
  })

  it('begins within the bounds', () => {
    expect(read({ adaptive: 'gradient', max: 8 }).rule.initial).toBe(8)
    expect(read({ adaptive: 'gradient', min: 30 }).rule.initial).toBe(30)
    expect(read({ adaptive: 'gradient', min: 2000 }).rule).toMatchObject({ max: 2000, initial: 2000 })
  })

  it('cannot be changed afterwards, and differs in its jitter from host to host', () => {
    const first = read({ adaptive: 'gradient' })
    expect(Object.isFrozen(first) && Object.isFrozen(first.rule)).toBe(true)
    expect(first.rule.seed).not.toBe(read({ adaptive: 'gradient' }).rule.seed)
  })

  it.each([
    [{ adaptive: 'gradiant' }, '`concurrency.adaptive` is "gradiant": did you mean \'gradient\'?'],
    [{ adaptive: 'vegas' }, "`concurrency.adaptive` is \"vegas\": give 'gradient' or 'aimd'"],
    [{}, "`concurrency.adaptive` is undefined: give 'gradient' or 'aimd'"],
    [{ adaptive: 'gradient', min: 0 }, '`concurrency.min` is 0: give a whole number of at least 1'],
    [{ adaptive: 'gradient', min: 1.5 }, '`concurrency.min` is 1.5: give a whole number of at least 1'],
    [{ adaptive: 'gradient', min: 9, max: 8 }, '`concurrency.max` is 8: give at least `min`, which is 9'],
    [
      { adaptive: 'gradient', min: 5, max: 50, initial: 51 },
      '`concurrency.initial` is 51: give a number from `min` to `max`, 5 to 50'
    ],
    [{ adaptive: 'gradient', maxx: 8 }, '`maxx` is no option of `concurrency`: did you mean `max`?'],
    [{ adaptive: 'gradient', timeout: 0 }, '`concurrency.timeout` is 0'],
    [{ adaptive: 'gradient', tolerance: 1 }, '`concurrency.tolerance` is 1: give a number from 1.1 to 10'],
    [{ adaptive: 'aimd', tolerance: 2 }, "'aimd' has no meaning for it"],
    [null, '`concurrency` is null'],
    ['gradient', '`concurrency` is "gradient": give { adaptive: \'gradient\' }']
  ])('refuses %j', (value, message) => {
    expect(() => read(value)).toThrow(message)
  })
})
