import { Controller, Get } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { Limit } from '../../src/nest/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { asyncMemory } from '../support/async-memory.js'
import { create, nestApps } from './app.js'

const minute = { window: '1m' } as const

@Controller()
class Pages {
  @Get() page() {}
  @Get('login') @Limit('login') login() {}
  @Get('token') @Limit('token') token() {}
}

/** Limits that are fine with a store each. */
const settings: Readonly<Record<string, object>> = {
  'of which all have the names of the module’s': {
    limits: [
      { name: 'short', limit: 3, ...minute },
      { name: 'long', limit: 9, window: '1h' }
    ],
    policies: {
      login: {
        limits: [
          { name: 'short', limit: 1, ...minute },
          { name: 'long', limit: 9, window: '1d' }
        ]
      },
      token: {
        limits: [
          { name: 'short', limit: 2, ...minute },
          { name: 'long', limit: 9, window: '1d' }
        ]
      }
    }
  },
  'without names, and the same': {
    limits: [
      { limit: 3, ...minute },
      { limit: 9, window: '1h' }
    ],
    policies: {
      login: {
        limits: [
          { limit: 1, ...minute },
          { limit: 9, window: '1h' }
        ]
      },
      token: {
        limits: [
          { limit: 2, ...minute },
          { limit: 9, window: '1h' }
        ]
      }
    }
  },
  'that are the module’s own again': {
    limits: [
      { limit: 1, ...minute },
      { limit: 9, window: '1h' }
    ],
    policies: {
      login: {
        limits: [
          { limit: 1, ...minute },
          { limit: 9, window: '1h' }
        ]
      },
      token: {
        limits: [
          { limit: 1, ...minute },
          { limit: 9, window: '1h' }
        ]
      }
    }
  },
  'of one that has the module’s name': {
    name: 'api',
    limit: 3,
    ...minute,
    policies: { login: { name: 'api', limit: 1, ...minute }, token: { name: 'api', limit: 2, ...minute } }
  }
}

const stores: Readonly<Record<string, () => object>> = {
  'a memory store': () => ({ store: memoryStore() }),
  'a shared store': () => ({ store: sharedStore({ maxKeys: 100 }) }),
  // It has a clock of its own.
  'a store outside the process': () => ({ store: asyncMemory(() => 0), now: undefined })
}

describe('policies of one store', () => {
  const start = nestApps()

  describe.each(Object.entries(stores))('%s', (_which, store) => {
    it.each(Object.entries(settings))('count each for itself: limits %s', async (what, options) => {
      const { statuses } = await start('express', {
        options: { ...options, ...store() } as never,
        controllers: [Pages]
      })
      const isOne = what === 'that are the module’s own again'
      const [own, login, token] = isOne ? [1, 1, 1] : [3, 1, 2]
      for (const [path, limit] of [
        ['/', own],
        ['/login', login],
        ['/token', token]
      ] as const)
        expect(await statuses(...Array.from({ length: limit + 1 }, () => path))).toEqual([
          ...Array.from({ length: limit }, () => 200),
          429
        ])
    })
  })

  it('that cannot be told apart are named both', async () => {
    const options = {
      ...minute,
      limit: 3,
      name: 'login',
      policies: { login: { limit: 1, ...minute } },
      store: memoryStore()
    }
    await expect(create('express', { options, controllers: [Pages] })).rejects.toMatchObject({
      code: 'HEADGATE_POLICY_CLASH',
      message: expect.stringMatching(/RateLimitModule \(3 in 60000 ms\).*policies\.login \(1 in 60000 ms\)/)
    })
  })
})
