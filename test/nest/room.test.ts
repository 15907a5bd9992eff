import { type CanActivate, Controller, Get, Injectable, type Type, UseGuards } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { Limit, RateLimitGuard } from '../../src/nest/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { create, nestApps, platforms } from './app.js'

const hour = { limit: 1, window: '1h', scope: 'handler' } as const

/** A controller with so many handlers: `/name/0`, `/name/1` and so on. */
function controllerOf(name: string, handlers: number): Type {
  class Many {}
  for (let i = 0; i < handlers; i++) {
    const handler = { [`handle${i}`]() {} }
    Object.defineProperty(Many.prototype, `handle${i}`, {
      value: handler[`handle${i}`],
      configurable: true,
      writable: true
    })
    Get(String(i))(
      Many.prototype,
      `handle${i}`,
      Object.getOwnPropertyDescriptor(Many.prototype, `handle${i}`)!
    )
  }
  Controller(name)(Many)
  return Many
}

const failure = async (app: ReturnType<typeof create>) => {
  try {
    await (await app).init()
  } catch (error) {
    return error as { code: string; message: string }
  }
  return undefined
}

describe.each(platforms)('on %s, a shared store', (platform) => {
  const start = nestApps()

  it('has room, as it is by default, for a counter for each of sixty handlers', async () => {
    const { statuses } = await start(platform, {
      options: { ...hour, store: sharedStore({ maxKeys: 100_000 }) },
      controllers: [controllerOf('pages', 60)]
    })
    for (let i = 0; i < 60; i += 10) expect(await statuses(`/pages/${i}`, `/pages/${i}`)).toEqual([200, 429])
  })

  it('without room for all handlers fails the start, and says how much they need', async () => {
    const limited = (maxBytes: number) => ({
      options: { ...hour, store: sharedStore({ maxKeys: 10_000, maxBytes }) },
      controllers: [controllerOf('pages', 9), controllerOf('others', 9)]
    })
    const error = await failure(create(platform, limited(2 ** 22)))
    expect(error).toMatchObject({ code: 'HEADGATE_STORE_FULL' })
    const needed = Number(/at least (\d+)/.exec(error!.message)?.[1])
    expect((await failure(create(platform, limited(needed - 8))))?.code).toBe('HEADGATE_STORE_FULL')
    const { statuses } = await start(platform, limited(needed))
    expect(await statuses('/others/8', '/others/8', '/pages/0', '/nope', '/nope')).toEqual([
      200, 429, 200, 404, 429
    ])
  })

  it('is asked for room for `@Limit` of classes, and where guards stand, at the start too', async () => {
    @Injectable()
    class Nothing implements CanActivate {
      canActivate() {
        return true
      }
    }
    @Controller('marked')
    @Limit(hour)
    class Marked {
      @Get('a') a() {}
      @Get('b') b() {}
      @Get('c') c() {}
    }
    @Controller('guarded')
    @UseGuards(Nothing, RateLimitGuard)
    class Guarded {
      @Get('a') a() {}
      @Get('b') b() {}
      @Get('c') c() {}
    }
    @Controller('free')
    @UseGuards(Nothing)
    class Free {
      @Get('a') a() {}
      @Get('b') b() {}
      @Get('c') c() {}
    }
    const room = { maxKeys: 10_000, maxBytes: 2 ** 22 }
    const failing = (options: object, controller: Type) =>
      failure(
        create(platform, { options: { store: sharedStore(room), ...options }, controllers: [controller] })
      )
    expect((await failing({}, Marked))?.code).toBe('HEADGATE_STORE_FULL')
    expect((await failing({ ...hour, global: false }, Guarded))?.code).toBe('HEADGATE_STORE_FULL')
    expect(await failing({ ...hour, global: false }, Free)).toBeUndefined()
  })
})
