import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { forgetWarnings, turns } from '../http/behaviour/harness.js'
import { nestApps, platforms, times } from './app.js'

const of = { limit: 9, window: '1d' } as const
const said = ['HEADGATE_MADE_PER_REQUEST']

describe.each(platforms)('limiters that are made while requests are served, on %s', (platform) => {
  const run = nestApps()
  let heard: unknown[] = []
  const hear = (warning: Error & { code?: string }) => void heard.push(warning.code)

  // It is said once a process: each test has a copy of the package.
  beforeEach(() => {
    vi.resetModules()
    forgetWarnings()
    heard = []
    process.on('warning', hear)
  })
  afterEach(() => void process.off('warning', hear))

  /** What is warned of while a handler does something with each of three requests, and a guard before it. */
  async function warnings(
    work: () => unknown,
    guard: (context: ExecutionContext) => boolean | Promise<boolean> = () => true
  ): Promise<unknown[]> {
    class Reports {
      list() {
        work()
        return 'ok'
      }
    }
    const method = Object.getOwnPropertyDescriptor(Reports.prototype, 'list')!
    Get()(Reports.prototype, 'list', method)
    UseGuards({ canActivate: guard })(Reports.prototype, 'list', method)
    Controller()(Reports)
    const app = await run(platform, { controllers: [Reports] })
    expect(await app.statuses(...times(3, '/'))).toEqual([200, 200, 200])
    await turns()
    return heard
  }

  it('are warned of once: by createLimiter in a handler', async () => {
    const { createLimiter } = await import('../../src/index.js')
    expect(await warnings(() => createLimiter(of).consume('key'))).toEqual(said)
  })

  it('are warned of once: by limitGuard in a guard', async () => {
    const { limitGuard } = await import('../../src/nest/index.js')
    const guard = async (context: ExecutionContext) => {
      await turns()
      return limitGuard(of).canActivate(context) as Promise<boolean>
    }
    expect(await warnings(() => {}, guard)).toEqual(said)
  })

  it('are not, where they were made before', async () => {
    const [{ createLimiter }, { limitGuard }] = await Promise.all([
      import('../../src/index.js'),
      import('../../src/nest/index.js')
    ])
    const [limiter, guard] = [createLimiter(of), limitGuard(of)]
    const canActivate = (context: ExecutionContext) => guard.canActivate(context) as boolean
    expect(await warnings(() => limiter.consume('key'), canActivate)).toEqual([])
  })
})
