import { Controller, Get, Inject } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { Limit, RateLimitService } from '../../src/nest/index.js'
import { nestApps } from './app.js'

describe('the service', () => {
  const start = nestApps()

  @Controller()
  class Account {
    readonly limits: RateLimitService

    constructor(@Inject(RateLimitService) limits: RateLimitService) {
      this.limits = limits
    }

    @Get('login') @Limit('login') login() {}
    @Get() page() {}
  }

  const key = 'header:x-account'
  const options = {
    limit: 3,
    window: '1m',
    policies: { login: { limit: 2, window: '1h', key }, computed: { limit: () => 5, window: '1m' } }
  } as const

  async function running() {
    const { app, request } = await start('express', { options, controllers: [Account] })
    const login = async () => (await request('/login', { 'x-account': 'ada' })).status
    return { limits: app.get(Account).limits, login, request }
  }

  it('consumes, peeks and refunds what requests are charged to', async () => {
    const { limits, login } = await running()
    expect(await login()).toBe(200)
    expect(await limits.peek('login', 'ada')).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
    expect(await limits.consume('login', 'ada')).toMatchObject({ allowed: true, remaining: 0 })
    expect(await login()).toBe(429)
    await limits.refund('login', 'ada')
    expect(await login()).toBe(200)
    expect(await limits.consume('login', 'ada', 2)).toMatchObject({ allowed: false })
  })

  it('resets and blocks', async () => {
    const { limits, login } = await running()
    expect([await login(), await login(), await login()]).toEqual([200, 200, 429])
    await limits.reset('login', 'ada')
    expect(await login()).toBe(200)
    await limits.block('login', 'ada', '10m')
    expect(await login()).toBe(429)
    await limits.reset('login', 'ada')
    expect(await login()).toBe(200)
  })

  it('has the module’s own limit as `default`', async () => {
    const { limits, request } = await running()
    await request('/')
    expect(await limits.peek('default', '127.0.0.1')).toMatchObject({ limit: 3, remaining: 2 })
  })

  it('refuses names that are unknown, and policies that are computed', async () => {
    const { limits } = await running()
    expect(() => limits.peek('logni', 'ada')).toThrow(/did you mean 'login'/)
    expect(() => limits.peek('computed', 'ada')).toThrow(expect.objectContaining({ code: 'HEADGATE_MISUSE' }))
  })
})
