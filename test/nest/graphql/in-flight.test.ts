import { Query, Resolver } from '@nestjs/graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit, RateLimitService } from '../../../src/nest/index.js'
import { gate, until } from '../../http/behaviour/harness.js'
import { drivers, type GraphqlServer, graphqlServer } from './application.js'

let held = gate()
let begun = 0

@Resolver()
class Slow {
  @Query('slow')
  @Limit({ concurrency: 1, key: () => 'k' })
  async slow(): Promise<string> {
    begun++
    await held.promise
    return 'ok'
  }
}

describe.each(drivers)('resolvers in flight on %s', (driver) => {
  let server: GraphqlServer
  afterEach(() => server.close())
  const serve = async (context: 'full' | 'request') => {
    held = gate()
    begun = 0
    const typeDefs = 'type Query { slow: String }'
    server = await graphqlServer(driver, { typeDefs, resolvers: [Slow], context, options: {} })
  }

  it('are so until their response has been sent', async () => {
    await serve('full')
    const first = server.query('{ slow }')
    await until(() => begun === 1)
    const second = await server.query('{ slow }')
    expect(second.errors[0]?.extensions?.code).toBe('TOO_MANY_REQUESTS')
    held.open()
    expect((await first).data).toEqual({ slow: 'ok' })
    const limits = server.app.get(RateLimitService)
    await until(() => (limits.peek([Slow, 'slow'], 'k') as { remaining: number }).remaining === 1)
    expect((await server.query('{ slow }')).data).toEqual({ slow: 'ok' })
  })

  it('are refused where the context has no response that would tell', async () => {
    await serve('request')
    held.open()
    const answer = await server.query('{ slow }')
    const isServed = answer.errors.length === 0
    // Some drivers give the response by themselves.
    expect(isServed).toBe(begun === 1)
  })
})
