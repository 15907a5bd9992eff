import { Query, Resolver, Subscription } from '@nestjs/graphql'
import { createClient } from 'graphql-ws'
import { afterEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { Limit, type RateLimitModuleOptions } from '../../../src/nest/index.js'
import { type Driver, drivers, type GraphqlError, type GraphqlServer, graphqlServer } from './application.js'
import { warningsOf } from './warnings.js'

const typeDefs = `
  type Query { word: String }
  type Subscription { ticks: Int, marked: Int, free: Int }
`

async function* counting(name: string) {
  for (let i = 1; i <= 3; i++) yield { [name]: i }
}

@Resolver()
class Ticks {
  @Query('word')
  word(): string {
    return 'word'
  }

  @Subscription('ticks')
  ticks(): AsyncIterator<object> {
    return counting('ticks')
  }

  @Subscription('marked')
  @Limit({ limit: 1 })
  marked(): AsyncIterator<object> {
    return counting('marked')
  }

  @Subscription('free')
  @Limit.skip()
  free(): AsyncIterator<object> {
    return counting('free')
  }
}

interface Outcome {
  readonly values: unknown[]
  readonly errors: readonly GraphqlError[]
}

/** Connects from an address of this machine, and subscribes to one field after the other. */
async function subscribe(
  { url }: GraphqlServer,
  fields: readonly string[],
  { from = '127.0.0.1', headers = {} }: { from?: string; headers?: Record<string, string> } = {}
): Promise<Outcome[]> {
  class Socket extends WebSocket {
    constructor(address: string, protocols: string | string[]) {
      super(address, protocols, { localAddress: from, headers } as object)
    }
  }
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: Socket,
    retryAttempts: 0,
    lazyCloseTimeout: 1000
  })
  const outcomes: Outcome[] = []
  for (const field of fields) outcomes.push(await outcomeOf(client, field))
  await client.dispose()
  return outcomes
}

function outcomeOf(client: ReturnType<typeof createClient>, field: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const values: unknown[] = []
    const errors: GraphqlError[] = []
    const isOperation = field.startsWith('{')
    client.subscribe(
      { query: isOperation ? field : `subscription { ${field} }` },
      {
        next(result) {
          if (result.data?.[field] !== undefined) values.push(result.data[field])
          errors.push(...((result.errors ?? []) as unknown as GraphqlError[]))
        },
        error(error) {
          if (Array.isArray(error)) resolve({ values, errors: error })
          else reject(error)
        },
        complete: () => resolve({ values, errors })
      }
    )
  })
}

const subscriptionsOf = (driver: Driver, context: object) =>
  driver === 'mercurius over fastify'
    ? { subscription: { fullWsTransport: true } }
    : { subscriptions: { 'graphql-ws': context } }

const shapes = {
  'the context that the driver makes': {},
  'the context of graphql-ws itself': { context: (context: object) => context },
  'a context with the request of the handshake': {
    context: ({ extra }: { extra: { request: object } }) => ({ req: extra.request })
  },
  'a context with the extra of graphql-ws': {
    context: ({ extra }: { extra: object }) => ({ req: {}, extra })
  }
}

describe.each(drivers)('subscriptions on %s', (driver) => {
  const servers: GraphqlServer[] = []
  const serve = async (
    options: Partial<RateLimitModuleOptions> = {},
    context: object = {},
    trust?: string[]
  ) => {
    const server = await graphqlServer(driver, {
      typeDefs,
      resolvers: [Ticks],
      options: { limit: 2, window: '1m', now: () => 0, ...options } as RateLimitModuleOptions,
      graphql: subscriptionsOf(driver, context),
      ...(trust && { trust })
    })
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it.each(Object.entries(shapes))('limits by the address of the socket, with %s', async (_, context) => {
    const warnings = warningsOf('HEADGATE_NO_ADDRESS')
    const server = await serve({}, context)
    const outcomes = await subscribe(server, ['ticks', 'ticks', 'ticks'])
    expect(outcomes.map(({ values }) => values)).toEqual([[1, 2, 3], [1, 2, 3], []])
    expect(outcomes[2]!.errors).toHaveLength(1)
    expect(outcomes[2]!.errors[0]!.message).toMatch(/too many requests/i)
    const [other] = await subscribe(server, ['ticks'], { from: '127.0.0.2' })
    expect(other).toEqual({ values: [1, 2, 3], errors: [] })
    expect(await warnings.end()).toEqual([])
  })

  it('says in the error when to come back', async () => {
    const [, , denied] = await subscribe(await serve(), ['ticks', 'ticks', 'ticks'])
    expect(denied!.errors[0]!.extensions).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      status: 429,
      retryAfter: 60
    })
  })

  it('limits by the mark, and leaves out what is skipped', async () => {
    const server = await serve()
    const outcomes = await subscribe(server, ['marked', 'marked', 'free', 'free', 'free'])
    expect(outcomes.map(({ errors }) => errors.length)).toEqual([0, 1, 0, 0, 0])
  })

  it('counts queries over the socket and over HTTP as one client', async () => {
    const server = await serve()
    expect((await server.query('{ word }')).errors).toEqual([])
    const outcomes = await subscribe(server, ['{ word }', '{ word }'])
    expect(outcomes.map(({ errors }) => errors.length)).toEqual([0, 1])
  })

  it('limits by a header of the handshake', async () => {
    const server = await serve({ limit: 1, key: 'header:x-api-key' })
    const failures = []
    for (const key of ['a', 'a', 'b']) {
      const [outcome] = await subscribe(server, ['ticks'], { headers: { 'x-api-key': key } })
      failures.push(outcome!.errors.length)
    }
    expect(failures).toEqual([0, 1, 0])
  })

  it('reads the address that a trusted proxy names', async () => {
    const server = await serve({ limit: 1 }, {}, ['127.0.0.1'])
    const failures = []
    for (const address of ['203.0.113.9', '203.0.113.9', '203.0.113.10']) {
      const headers = { 'x-forwarded-for': address }
      const [outcome] = await subscribe(server, ['ticks'], { headers })
      failures.push(outcome!.errors.length)
    }
    expect(failures).toEqual([0, 1, 0])
  })

  it('NST-04: never crashes where the context tells nothing', async () => {
    const server = await serve({}, { context: () => ({ req: {} }) })
    const outcomes = await subscribe(server, ['ticks', 'ticks', 'ticks'])
    expect(outcomes.map(({ errors }) => errors.length)).toEqual([0, 0, 1])
    expect(outcomes[2]!.errors[0]!.message).toMatch(/too many requests/i)
  })
})
