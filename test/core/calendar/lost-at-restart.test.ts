import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter, type LimiterOptions, memoryStore } from '../../../src/index.js'
import { sharedStore } from '../../../src/shared/index.js'
import { lockingStore } from '../../remote/locking-store.js'

const code = 'HEADGATE_LOST_AT_RESTART'

/** The codes of the warnings that making a limiter raises, as in a process that has said nothing yet. */
function saidOf(make: () => unknown): unknown[] {
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  try {
    make()
    return emit.mock.calls.map(([, options]) => (options as { code: string }).code)
  } finally {
    emit.mockRestore()
  }
}

const monthly = { limit: 1, window: 'month' }
const make = (options: object) => () => createLimiter({ ...monthly, ...options } as LimiterOptions)

describe('quotas that a restart would give again', () => {
  beforeEach(() => {
    delete (globalThis as Record<symbol, unknown>)[Symbol.for('headgate.said/1')]
  })

  it.each([
    ['a month', {}],
    ['a week', { window: 'week' }],
    ['a year', { window: 'year' }],
    [
      'a month beside others',
      { limits: [{ limit: 1, window: '1s' }, monthly], limit: undefined, window: undefined }
    ],
    ['a shared store', { store: sharedStore({ maxKeys: 10 }) }]
  ])('are warned of once: %s', (_, options) => {
    expect(saidOf(make(options))).toEqual([code])
    expect(saidOf(make({ window: 'year' }))).toEqual([])
  })

  it.each([
    ['a day', { window: 'day' }],
    ['31 days', { window: '31d' }],
    ['a store that was restored', { store: memoryStore({ from: memoryStore().save() }) }],
    ['a store at its first start', { store: memoryStore({ from: undefined }) }],
    ['a shared one', { store: sharedStore({ from: undefined }) }],
    ['a store outside', { store: lockingStore(() => 0) }]
  ])('are not: %s', (_, options) => {
    expect(saidOf(make(options))).toEqual([])
  })

  it('are not where the store was saved before', () => {
    const store = memoryStore()
    store.save()
    expect(saidOf(make({ store }))).toEqual([])
  })
})
