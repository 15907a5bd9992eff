import { Controller, Get } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { Limit } from '../../src/nest/index.js'
import { within } from '../http/behaviour/harness.js'
import { nestApps, platforms } from './app.js'

const reached: string[] = []

@Controller()
class Slow {
  @Get('slow')
  @Limit({ limit: Infinity, window: '1h', delay: { after: 0, step: '1h', max: '1h' }, key: () => 'k' })
  slow() {
    reached.push('slow')
    return 'ok'
  }
}

describe('what is held on NestJS', () => {
  const start = nestApps()

  it.each(platforms)('SLO-14: a shutdown has all go on at once (%s)', async (platform) => {
    reached.length = 0
    const { app, request } = await start(platform, { options: {}, controllers: [Slow] })
    const held = [1, 2].map(() => request('/slow', { Connection: 'close' }))
    expect(await within(Promise.race(held), 50)).toBe('pending')
    expect(reached).toEqual([])
    const closing = app.close()
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
    await closing
    expect(reached).toEqual(['slow', 'slow'])
  })
})
