import { Controller, Get, type INestApplication } from '@nestjs/common'
import { Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit, limitGuard } from '../../../src/nest/index.js'
import { type Answer, drivers, type GraphqlServer, type GraphqlSpec, graphqlServer } from './application.js'

const typeDefs = `
  type Word { text: String, length: Int }
  type Query { word: String, other: String, words: [Word] }
  type Mutation { add: String, drop: String }
`

@Resolver('Word')
class Words {
  @Query('word')
  word(): string {
    return 'word'
  }

  @Query('other')
  other(): string {
    return 'other'
  }

  @Query('words')
  words(): object[] {
    return [{ text: 'one' }, { text: 'three' }, { text: 'fifteen' }]
  }

  @ResolveField('length')
  size(@Parent() { text }: { text: string }): number {
    return text.length
  }

  @Mutation('add')
  add(): string {
    return 'added'
  }
}

const codesOf = ({ errors }: Answer) => errors.map(({ extensions }) => extensions?.code)
const limit = { limit: 2, window: '1m' } as const

describe.each(drivers)('resolvers on %s', (driver) => {
  const servers: GraphqlServer[] = []
  let clock = 0
  const now = () => clock

  const serve = async (spec: Partial<GraphqlSpec>) => {
    clock = 0
    const server = await graphqlServer(driver, { typeDefs, resolvers: [Words], context: 'full', ...spec })
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it('denies the third query by an error that says so, and admits after the wait', async () => {
    const { query } = await serve({ options: { ...limit, now } })
    const answers = [await query('{ word }'), await query('{ other }'), await query('{ word }')]
    expect(answers.map(({ data }) => data)).toEqual([{ word: 'word' }, { other: 'other' }, { word: null }])
    expect(answers.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['1', '0', '0'])
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual([null, null, '60'])
    const [error] = answers[2]!.errors
    expect(error).toMatchObject({
      path: ['word'],
      extensions: { code: 'TOO_MANY_REQUESTS', status: 429, retryAfter: 60 }
    })
    expect(error!.message).toMatch(/too many requests/i)
    clock = 59_999
    expect(codesOf(await query('{ word }'))).toEqual(['TOO_MANY_REQUESTS'])
    clock = 60_000
    expect((await query('{ word }')).data).toEqual({ word: 'word' })
  })

  it('counts every alias of a field, and shows its limiter once in the headers', async () => {
    const { query } = await serve({ options: { limit: 50, window: '1m', headers: 'draft-11', now } })
    const aliases = Array.from({ length: 100 }, (_, i) => `a${i}: word`)
    const { data, errors, headers } = await query(`{ ${aliases.join(' ')} }`)
    expect(Object.values(data!).filter((word) => word === 'word')).toHaveLength(50)
    expect(errors).toHaveLength(50)
    expect(new Set(errors.map(({ extensions }) => extensions?.status))).toEqual(new Set([429]))
    expect(headers.get('ratelimit')).toBe('"default";r=0;t=60')
    expect(headers.get('ratelimit-policy')).toBe('"default";q=50;w=60')
    expect(headers.get('retry-after')).toBe('60')
  })

  it('admits exactly the limit of many queries at once', async () => {
    const { query } = await serve({ options: { limit: 5, window: '1m', now } })
    const answers = await Promise.all(Array.from({ length: 60 }, () => query('{ word }')))
    const admitted = answers.filter(({ errors }) => errors.length === 0)
    const remaining = admitted.map(({ headers }) => headers.get('ratelimit-remaining'))
    expect(remaining.sort()).toEqual(['0', '1', '2', '3', '4'])
  })

  it('tells of both limits of a query that calls two resolvers', async () => {
    @Resolver()
    class Colours {
      @Query('word')
      @Limit({ name: 'red', limit: 5, window: '1m' })
      word(): string {
        return 'red'
      }

      @Query('other')
      @Limit({ name: 'blue', limit: 1, window: '2m' })
      other(): string {
        return 'blue'
      }
    }
    const options = { limit: 9, window: '1m', headers: 'draft-11', now } as const
    const { query } = await serve({ resolvers: [Colours], options })
    const both = await query('{ word other }')
    expect(both.headers.get('ratelimit')).toBe('"red";r=4;t=60, "blue";r=0;t=120')
    expect(both.headers.get('ratelimit-policy')).toBe('"red";q=5;w=60, "blue";q=1;w=120')
    clock = 120_000
    const again = await query('{ a: word b: other c: word }')
    expect(again.headers.get('ratelimit')).toBe('"blue";r=0;t=120, "red";r=3;t=60')
    const denied = await query('{ other word }')
    expect(denied.data).toEqual({ other: null, word: 'red' })
    expect(denied.headers.get('ratelimit')).toBe('"blue";r=0;t=120, "red";r=2;t=60')
    expect(denied.headers.get('retry-after')).toBe('120')
  })

  it('counts mutations, and no fields of what a resolver returns', async () => {
    const { query } = await serve({ options: { ...limit, now } })
    const answer = await query('{ words { text length } }')
    expect(answer.data?.words).toHaveLength(3)
    expect(answer.headers.get('ratelimit-remaining')).toBe('1')
    const added = await query('mutation { one: add two: add }')
    expect(added.data).toEqual({ one: 'added', two: null })
    expect(codesOf(added)).toEqual(['TOO_MANY_REQUESTS'])
  })

  it('counts fields of what a resolver returns where guards are asked for them', async () => {
    const graphql = { fieldResolverEnhancers: ['guards'] }
    const { query } = await serve({ options: { ...limit, now }, graphql })
    const { data, errors } = await query('{ words { length } }')
    expect(data).toEqual({ words: [{ length: 3 }, { length: null }, { length: null }] })
    expect(errors).toHaveLength(2)
  })

  it('counts a query once, though it also is a request of HTTP, and shares with controllers', async () => {
    @Controller()
    class Pages {
      @Get('page')
      page(): string {
        return 'page'
      }
    }
    const { url, query } = await serve({ controllers: [Pages], options: { limit: 3, window: '1m', now } })
    expect((await query('{ word }')).headers.get('ratelimit-remaining')).toBe('2')
    expect((await fetch(`${url}/page`)).headers.get('ratelimit-remaining')).toBe('1')
    expect((await fetch(`${url}/nowhere`)).headers.get('ratelimit-remaining')).toBe('0')
    expect(codesOf(await query('{ word }'))).toEqual(['TOO_MANY_REQUESTS'])
    expect((await fetch(`${url}/page`)).status).toBe(429)
  })

  it('keeps a query counted under countOnly, for no status tells what became of it', async () => {
    const { query } = await serve({ options: { ...limit, countOnly: 'failures', now } })
    const left = []
    for (let i = 0; i < 2; i++) left.push((await query('{ word }')).headers.get('ratelimit-remaining'))
    expect(left).toEqual(['1', '0'])
    expect(codesOf(await query('{ word }'))).toEqual(['TOO_MANY_REQUESTS'])
  })

  it('reads addresses by the setting of the platform alone', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': `198.51.100.1, ${address}` })
    const trusting = await serve({ options: { limit: 1, window: '1m', now }, trust: ['127.0.0.1'] })
    const statuses = []
    for (const address of ['203.0.113.9', '203.0.113.9', '203.0.113.10'])
      statuses.push(codesOf(await trusting.query('{ word }', from(address))).length)
    expect(statuses).toEqual([0, 1, 0])
    const plain = await serve({ options: { limit: 1, window: '1m', now } })
    expect(codesOf(await plain.query('{ word }', from('203.0.113.9')))).toHaveLength(0)
    expect(codesOf(await plain.query('{ word }', from('203.0.113.10')))).toHaveLength(1)
  })

  it('is limited by a guard of its own, without the module', async () => {
    const guard = limitGuard({ ...limit, now })
    const { query } = await serve({ setUp: (app: INestApplication) => void app.useGlobalGuards(guard) })
    const answer = await query('{ a: word b: word c: word }')
    expect(answer.data).toEqual({ a: 'word', b: 'word', c: null })
    expect(answer.errors[0]?.extensions).toMatchObject({ status: 429, retryAfter: 60 })
    expect(codesOf(answer)).toEqual(['TOO_MANY_REQUESTS'])
    expect(answer.headers.get('ratelimit-remaining')).toBe('0')
  })
})
