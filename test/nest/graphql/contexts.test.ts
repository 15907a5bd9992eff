import { Query, Resolver } from '@nestjs/graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, type Driver, drivers, type GraphqlServer, graphqlServer } from './application.js'
import { warningsOf } from './warnings.js'

@Resolver()
class Words {
  @Query('word')
  word(): string {
    return 'word'
  }
}

const isOverFastify = (driver: Driver) => driver !== 'apollo over express'
const hasReply = (driver: Driver) => driver === 'mercurius over fastify'

/** Two queries pass and the third is denied, whatever the context. */
function expectLimited(answers: readonly Answer[]): void {
  expect(answers.map(({ data }) => data)).toEqual([{ word: 'word' }, { word: 'word' }, { word: null }])
  expect(answers[2]!.errors).toHaveLength(1)
  expect(answers[2]!.errors[0]!.message).toMatch(/too many requests/i)
  expect(answers[2]!.errors[0]!.extensions).toMatchObject({ status: 429, retryAfter: 60 })
}

describe.each(drivers)('the context of GraphQL on %s', (driver) => {
  const servers: GraphqlServer[] = []
  const thrice = async (context?: (...args: never[]) => unknown) => {
    const options = { limit: 2, window: '1m', now: () => 0 }
    const spec = { typeDefs: 'type Query { word: String }', resolvers: [Words], options }
    const server = await graphqlServer(driver, { ...spec, ...(context && { context }) })
    servers.push(server)
    const answers: Answer[] = []
    for (let i = 0; i < 3; i++) answers.push(await server.query('{ word }'))
    return answers
  }
  const limits = (answers: readonly Answer[]) => answers.map(({ headers }) => headers.get('ratelimit-limit'))

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it('limits with the context that the driver makes, with headers where that has a response', async () => {
    const answers = await thrice()
    expectLimited(answers)
    const there = hasReply(driver) ? '2' : null
    expect(limits(answers)).toEqual([there, there, there])
  })

  it('sets headers where the context has the response, under any of the usual names', async () => {
    const contexts = isOverFastify(driver)
      ? [
          (req: unknown, res: unknown) => ({ req, res }),
          (request: unknown, reply: unknown) => ({ request, reply }),
          (request: unknown, response: unknown) => ({ request, response })
        ]
      : [
          ({ req, res }: { req: unknown; res: unknown }) => ({ req, res }),
          ({ req, res }: { req: unknown; res: unknown }) => ({ request: req, response: res })
        ]
    for (const context of contexts) {
      const answers = await thrice(context)
      expectLimited(answers)
      expect(limits(answers)).toEqual(['2', '2', '2'])
    }
  })

  it('NST-02: leaves headers out where the context has no response', async () => {
    const context = isOverFastify(driver)
      ? (req: unknown) => ({ req, tenant: 'a' })
      : ({ req }: { req: unknown }) => ({ req, tenant: 'a' })
    const answers = await thrice(context)
    expectLimited(answers)
    const there = hasReply(driver) ? '2' : null
    expect(limits(answers)).toEqual([there, there, there])
  })

  it('limits with what Node itself has of the request and the response', async () => {
    type Raw = { raw: unknown }
    const contexts = isOverFastify(driver)
      ? [
          (req: Raw, res: Raw) => ({ req: req.raw, res: res.raw }),
          (req: Raw, res: Raw) => ({ req, res: res.raw }),
          (req: Raw, res: Raw) => ({ req: req.raw, res }),
          (req: Raw) => ({ req: req.raw })
        ]
      : [({ req }: { req: unknown }) => ({ req })]
    for (const context of contexts) expectLimited(await thrice(context))
  })

  it('limits where what is called a response is none', async () => {
    for (const res of [{ setHeader: 'text' }, { setHeader() {} }, { header() {} }, new Headers(), null]) {
      const context = isOverFastify(driver)
        ? (req: unknown) => ({ req, res })
        : ({ req }: { req: unknown }) => ({ req, res })
      expectLimited(await thrice(context))
    }
  })

  it('limits all together, and warns once, where the context has no request', async () => {
    const warnings = warningsOf('HEADGATE_NO_ADDRESS')
    const answers = await thrice(() => ({ req: { of: 'my own' }, tenant: 'a' }))
    expectLimited(answers)
    const told = await warnings.end()
    // Mercurius puts its reply into every context, and that knows the request.
    expect(told).toHaveLength(hasReply(driver) ? 0 : 1)
    if (!hasReply(driver)) expect(told[0]).toContain("'unknown'")
  })

  it('limits where the context is no object at all', async () => {
    const answers = await thrice(() => 'text')
    expect(answers.map(({ errors }) => JSON.stringify(errors)).join()).not.toContain('TypeError')
    expect(answers[2]!.data?.word ?? null).toBeNull()
  })
})
