import { type CanActivate, type ExecutionContext, UseGuards } from '@nestjs/common'
import { Mutation, Query, Resolver } from '@nestjs/graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit, limitGuard } from '../../../src/nest/index.js'
import { drivers, type GraphqlServer, graphqlServer } from './application.js'

const typeDefs = `
  type Query { one: String, two: String, free: String, mine: String }
  type Mutation { pay: String }
`

/** Takes the user from a header, as authentication would from a token. */
class UserGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    await Promise.resolve()
    const { req } = context.getArgByIndex(2)
    const id = req.headers['x-user']
    if (id === undefined) return false
    req.user = { id }
    return true
  }
}

let clock = 0
const now = () => clock
const byPolicy = limitGuard({ name: 'mine', limit: 1, window: '1m', now })

@Resolver()
@Limit({ limit: 2, window: '1m' })
class Marked {
  @Query('one')
  one(): string {
    return 'one'
  }

  @Query('two')
  @Limit({ limit: 1 })
  two(): string {
    return 'two'
  }

  @Query('free')
  @Limit.skip()
  free(): string {
    return 'free'
  }

  @Mutation('pay')
  @Limit('header:x-api-key', 1, '1m')
  pay(): string {
    return 'paid'
  }
}

@Resolver()
class Mine {
  @Query('mine')
  @UseGuards(UserGuard)
  @Limit({ limit: 1, window: '1m', key: 'user' })
  mine(): string {
    return 'mine'
  }

  @Query('one')
  @UseGuards(byPolicy)
  one(): string {
    return 'one'
  }

  @Query('two')
  @Limit('shared')
  two(): string {
    return 'two'
  }

  @Query('free')
  @Limit('shared')
  free(): string {
    return 'free'
  }
}

describe.each(drivers)('@Limit on resolvers of %s', (driver) => {
  const servers: GraphqlServer[] = []
  const serve = async (resolver: typeof Marked | typeof Mine) => {
    clock += 3_600_000
    const server = await graphqlServer(driver, {
      typeDefs,
      resolvers: [resolver],
      context: 'full',
      options: { limit: 100, window: '1m', now, policies: { shared: { limit: 1, window: '1m' } } }
    })
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it('limits by the class, and by the method in its place', async () => {
    const { query } = await serve(Marked)
    const { data, errors } = await query('{ a: one b: one c: one d: two e: two }')
    expect(data).toEqual({ a: 'one', b: 'one', c: null, d: 'two', e: null })
    expect(errors.map(({ extensions }) => extensions?.status)).toEqual([429, 429])
  })

  it('leaves out what is skipped, headers too', async () => {
    const { query } = await serve(Marked)
    const { data, headers, errors } = await query('{ a: free b: free c: free }')
    expect([data, errors]).toEqual([{ a: 'free', b: 'free', c: 'free' }, []])
    expect(headers.get('ratelimit-limit')).toBeNull()
  })

  it('limits mutations by a header', async () => {
    const { query } = await serve(Marked)
    const denials = []
    for (const key of ['a', 'a', 'b'])
      denials.push((await query('mutation { pay }', { 'x-api-key': key })).errors.length)
    expect(denials).toEqual([0, 1, 0])
  })

  it('limits by the user that a guard has found', async () => {
    const { query } = await serve(Mine)
    const statuses = []
    for (const user of ['ann', 'ann', 'bob'])
      statuses.push((await query('{ mine }', { 'x-user': user })).errors[0]?.extensions?.status)
    expect(statuses).toEqual([undefined, 429, undefined])
    const stranger = await query('{ mine }')
    expect(stranger.data).toEqual({ mine: null })
    expect(stranger.errors[0]?.message).toMatch(/forbidden/i)
  })

  it('limits by a guard of its own beside the limit of the module', async () => {
    const { query } = await serve(Mine)
    const { data, headers } = await query('{ a: one b: one }')
    expect(data).toEqual({ a: 'one', b: null })
    expect(headers.get('ratelimit-policy')).toBe('100;w=60, 1;w=60')
    expect(headers.get('ratelimit-limit')).toBe('1')
  })

  it('shares the counter of a named policy', async () => {
    const { query } = await serve(Mine)
    expect((await query('{ two free }')).data).toEqual({ two: 'two', free: null })
  })
})
