import { afterEach, describe, expect, it, vi } from 'vitest'
import type { StoreState } from '../../../src/remote/index.js'
import { processes } from '../support/processes.js'
import { freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'

afterEach(() => vi.restoreAllMocks())

const leaseMs = 1000

describe.skipIf(servers === null)('permits of a process that does not hear of Redis', () => {
  const open = processes()
  const two = (settings: object = {}) => {
    const prefix = freshPrefix()
    const states: StoreState[] = []
    const make = () =>
      open(null, { name: 'jobs', concurrency: 2 }, prefix, {
        ...{ leaseMs, onStateChange: (state: StoreState) => void states.push(state) },
        ...settings
      })
    return { one: make(), other: make(), states }
  }

  it('say so when renewals fail, though nothing else is asked', async () => {
    const { one, states } = two()
    const permit = await one.limiter.acquire('a')
    one.faults.isDown = true
    await until('it is known', () => !one.store.isAvailable)
    expect(states).toHaveLength(1)
    expect(states[0]).toMatchObject({ isAvailable: false, error: { code: 'HEADGATE_STORE_FAILED' } })
    expect(states[0]!.error!.message).toContain('down')
    one.faults.isDown = false
    await until('it works', () => one.store.isAvailable)
    expect(states).toHaveLength(2)
    permit.release()
  })

  it('warn of it where nobody listens', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { one } = two({ onStateChange: undefined })
    await one.limiter.acquire('a')
    one.faults.isDown = true
    const codes = () => warn.mock.calls.map(([, options]) => (options as { code: string }).code)
    await until('it is said', () => codes().includes('HEADGATE_STORE_FAILED'))
  })

  it('are lost at once where the event loop was blocked for longer than a lease', async () => {
    const { one } = two()
    const permit = await one.limiter.acquire('a')
    expect(permit.isLost).toBe(false)
    const end = performance.now() + leaseMs
    while (performance.now() < end);
    expect(permit.isLost).toBe(true)
    permit.release()
    expect(permit.isLost).toBe(true)
    expect((await one.limiter.acquire('a')).isLost).toBe(false)
  })

  it('are lost as long as it is cut off, and ever after', async () => {
    const { one, other } = two()
    const permit = await one.limiter.acquire('a')
    one.faults.isDown = true
    const begun = performance.now()
    await until('it is lost', () => permit.isLost)
    expect(performance.now() - begun).toBeLessThan(2 * leaseMs)
    expect((await other.limiter.acquire('a', 2)).allowed).toBe(true)
    one.faults.isDown = false
    await until('it works', () => one.store.isAvailable)
    expect((await other.limiter.peek('a')).remaining).toBe(0)
    expect(permit.isLost).toBe(true)
  })

  it('are not lost as long as renewals are answered', async () => {
    const { one } = two()
    const permit = await one.limiter.acquire('a')
    const end = performance.now() + 2 * leaseMs
    await until('two leases have passed', () => permit.isLost || performance.now() > end)
    expect(permit.isLost).toBe(false)
  })

  it('are not lost where they were taken here, as Redis never gave them', async () => {
    const { one } = two({ breaker: { failures: 1, cooldown: 50 } })
    one.faults.isDown = true
    const permit = await one.limiter.acquire('a')
    expect(permit.source).toBe('local')
    const end = performance.now() + 1.2 * leaseMs
    await until('a lease has passed', () => permit.isLost || performance.now() > end)
    expect(permit.isLost).toBe(false)
  })

  it('are lost a lease after the store was closed', async () => {
    const { one } = two()
    const permit = await one.limiter.acquire('a')
    await one.store.close()
    await until('it is lost', () => permit.isLost)
  })

  it('are renewed again where more are acquired after the store was closed', async () => {
    const { one, other } = two()
    await one.store.close()
    const permit = await one.limiter.acquire('a')
    expect(permit).toMatchObject({ allowed: true, source: 'store' })
    const end = performance.now() + 1.5 * leaseMs
    await until('a lease has passed', () => permit.isLost || performance.now() > end)
    expect(permit.isLost).toBe(false)
    expect((await other.limiter.peek('a')).remaining).toBe(1)
  })
})
