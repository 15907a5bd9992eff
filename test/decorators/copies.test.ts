import { expect, it, vi } from 'vitest'
import { Limit, limitsOf } from '../../src/index.js'

it('`limitsOf` reads what `@Limit` of another copy of the package says, and together with its own', async () => {
  vi.resetModules()
  const other = await import('../../src/index.js')
  expect(other.Limit).not.toBe(Limit)
  class Reports {
    list() {}
    create() {}
    both() {}
    health() {}
  }
  other.Limit({ limit: 9, window: '1m' })(Reports)
  other.Limit('ip', 3, '1m')(Reports.prototype, 'create')
  other.Limit({ limit: 1, window: '1s' })(Reports.prototype, 'both')
  Limit({ limit: 5, window: '1h' })(Reports.prototype, 'both')
  other.Limit.skip()(Reports.prototype, 'health')
  for (const read of [limitsOf, other.limitsOf])
    expect(read(Reports)).toEqual({
      list: { limit: 9, window: '1m' },
      create: { key: 'ip', limit: 3, window: '1m', strategy: 'fixed-window' },
      both: {
        limits: [
          { limit: 5, window: '1h' },
          { limit: 1, window: '1s' }
        ]
      },
      health: false
    })
})
