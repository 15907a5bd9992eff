import { Controller, Get } from '@nestjs/common'
import { describe, expect, it, vi } from 'vitest'
import * as here from '../../src/nest/index.js'
import { create, nestApps, platforms, times } from './app.js'

/** Another copy of the package, as a bundler or a test runner loads it. */
async function copy(): Promise<typeof here> {
  vi.resetModules()
  return await import('../../src/nest/index.js')
}

describe.each(platforms)('copies of the package, on %s', (platform) => {
  const run = nestApps()

  it.each([true, false])(
    'a `@Limit` of one holds under the module of another, global: %s',
    async (global) => {
      const { Limit } = await copy()
      expect(Limit).not.toBe(here.Limit)
      class Reports {
        list() {}
        health() {}
        plain() {}
      }
      Limit({ limit: 2, window: '1m' })(Reports.prototype, 'list', methodOf(Reports, 'list'))
      Limit.skip()(Reports.prototype, 'health', methodOf(Reports, 'health'))
      for (const path of ['list', 'health', 'plain'])
        Get(path)(Reports.prototype, path, methodOf(Reports, path)!)
      Controller()(Reports)
      const app = await run(platform, {
        options: { limit: 1, window: '1m', global },
        controllers: [Reports]
      })
      expect(await app.statuses(...times(3, '/list'), ...times(3, '/health'))).toEqual([
        200, 200, 429, 200, 200, 200
      ])
      expect(await app.statuses(...times(2, '/plain'))).toEqual(global ? [200, 429] : [200, 200])
    }
  )

  it('the guard of one is that of another', async () => {
    const { RateLimitGuard } = await copy()
    class Reports {
      list() {}
    }
    Get('list')(Reports.prototype, 'list', methodOf(Reports, 'list')!)
    Controller()(Reports)
    here.Limit({ limit: 1, window: '1m' })(Reports)
    const { UseGuards } = await import('@nestjs/common')
    UseGuards(RateLimitGuard)(Reports)
    const app = await run(platform, { options: { global: false }, controllers: [Reports] })
    expect(await app.statuses(...times(2, '/list'))).toEqual([200, 429])
  })

  it('both modules in one application are refused, as one that is imported twice', async () => {
    const { RateLimitModule } = await copy()
    await expect(
      create(platform, {
        options: { limit: 1, window: '1m' },
        imports: [RateLimitModule.forRoot({ limit: 1, window: '1m' })]
      })
    ).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
  })

  it('a `@Limit` without any module is refused', async () => {
    const { Limit } = await copy()
    class Reports {
      list() {}
    }
    Limit({ limit: 2, window: '1m' })(Reports.prototype, 'list', methodOf(Reports, 'list'))
    Get('list')(Reports.prototype, 'list', methodOf(Reports, 'list')!)
    Controller()(Reports)
    await expect(
      create(platform, { controllers: [Reports] }).then((app) => app.init())
    ).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
  })
})

function methodOf(owner: abstract new () => object, name: string): PropertyDescriptor | undefined {
  return Object.getOwnPropertyDescriptor(owner.prototype, name)
}
