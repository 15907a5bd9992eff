import { afterEach, describe, expect, it, vi } from 'vitest'
import { fixedWindow } from '../../../src/core/strategies/fixed-window.js'
import windowLua from '../../../src/redis/lua/fixed-window.lua'
import { twoSpeedRules } from '../../support/two-speed.js'
import { type Computing, failingServer } from '../support/failing.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const failing = failingServer()

afterEach(() => vi.restoreAllMocks())

describe.skipIf(servers === null)('a strategy of the user that throws while it is charged', () => {
  it('loses that key alone, which is said once', async () => {
    const charge: typeof twoSpeedRules.charge = (...given) => {
      if (given[4] >= 50) throw new RangeError('too much at once')
      twoSpeedRules.charge(...given)
    }
    const strategy = { ...twoSpeedRules, charge }
    const { limiter, used, down, back, store } = failing({ strategy, limit: 1000, window: '365d' })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await down()
    for (const key of ['one', 'poison', 'toxin', 'two'])
      for (let i = 0; i < (key.length > 3 ? 6 : 1); i++) await limiter.consume(key, 10)
    await back()
    await until(
      'the others are charged',
      async () => (await used('one')) === 10 && (await used('two')) === 10
    )
    expect([await used('poison'), await used('toxin')]).toEqual([0, 0])
    expect(warned.mock.calls).toEqual([
      [
        expect.stringContaining('too much at once'),
        { type: 'HeadgateWarning', code: 'HEADGATE_REPAYMENT_FAILED' }
      ]
    ])
    expect(store.isAvailable).toBe(true)
    await down()
    await limiter.consume('poison', 10)
    await back()
    await until('it is charged', async () => (await used('poison')) === 10)
  })
})

describe.skipIf(servers === null)('a script of the user that fails', () => {
  it('keeps no other key from its turn', async () => {
    const begin = 'charge = function(s, at, r, now, cost)'
    const lua = windowLua.replace(begin, `${begin}\n    if cost >= 50 then error('too much at once') end`)
    expect(lua).not.toBe(windowLua)
    const strategy = { ...fixedWindow, name: 'window-of-mine', lua }
    const { limiter, used, down, back, store } = failing({ strategy, limit: 1000, window: '365d' })
    await down()
    for (const key of ['one', 'poison', 'two']) await limiter.consume(key, key === 'poison' ? 60 : 10)
    await back()
    await until(
      'the others are charged',
      async () => (await used('one')) === 10 && (await used('two')) === 10
    )
    expect(await used('poison')).toBe(0)
    expect(store.isAvailable).toBe(true)
    expect((await limiter.consume('live')).source).toBe('store')
  })
})

describe.skipIf(servers === null)('under limit functions', () => {
  it.each(['fixed-window', 'gcra', 'sliding-log'])(
    'the limit of the request is what is charged: %s',
    async (strategy) => {
      // What stands for a limit that is not known yet.
      const { limiter, other, back, down } = failing({ strategy, limit: 1, window: '365d' })
      const [mine, theirs] = [limiter, other] as unknown as Computing[]
      const limits = mine!.withLimits([100])
      await down()
      expect(await mine!.take('key', 60, limits)).toMatchObject({ isAllowed: true, source: 'local' })
      expect(await mine!.take('one', 1, limits)).toMatchObject({ isAllowed: true, source: 'local' })
      await back()
      const left = async (key: string) => (await theirs!.look(key, theirs!.withLimits([100]))).out[0]
      await until('it is charged', async () => (await left('key')) !== 100 && (await left('one')) !== 100)
      expect([await left('key'), await left('one')]).toEqual([40, 99])
    }
  )
})
