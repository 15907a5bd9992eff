import { type CanActivate, type ExecutionContext, UseGuards } from '@nestjs/common'
import { Query, ResolveField, Resolver } from '@nestjs/graphql'
import { afterEach, describe, expect, it } from 'vitest'
import { Limit } from '../../../src/nest/index.js'
import { drivers, type GraphqlServer, graphqlServer } from './application.js'
import { warningsOf } from './warnings.js'

const typeDefs = `
  type Word { plain: Int, marked: Int, mine: Int }
  type Query { words: [Word] }
`

class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { req } = context.getArgByIndex(2)
    req.user = { id: req.headers['x-user'] }
    return true
  }
}

@Resolver('Word')
@Limit('ip', 100, '1m')
class Words {
  @Query('words')
  @UseGuards(UserGuard)
  words(): object[] {
    return [{}, {}]
  }

  @ResolveField('plain')
  plain(): number {
    return 1
  }

  @ResolveField('marked')
  @Limit('ip', 1, '1m')
  marked(): number {
    return 2
  }

  @ResolveField('mine')
  @Limit('user', 1, '1m')
  mine(): number {
    return 3
  }
}

describe.each(drivers)('fields with resolvers of their own on %s', (driver) => {
  const servers: GraphqlServer[] = []
  const serve = async (fieldResolverEnhancers: string[]) => {
    const server = await graphqlServer(driver, {
      typeDefs,
      resolvers: [Words],
      context: 'full',
      options: { now: () => 0 },
      graphql: { fieldResolverEnhancers }
    })
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  it('limits them where Nest calls guards for them', async () => {
    const { query } = await serve(['guards'])
    const { data, errors } = await query('{ words { plain marked } }')
    expect(data).toEqual({
      words: [
        { plain: 1, marked: 2 },
        { plain: 1, marked: null }
      ]
    })
    expect(errors[0]!.path!.map(String)).toEqual(['words', '1', 'marked'])
  })

  it.each([[['guards']], [['guards', 'interceptors']]])(
    'limits them by the user, with %j',
    async (enhancers) => {
      const { query } = await serve(enhancers)
      const ann = await query('{ words { mine } }', { 'x-user': 'ann' })
      expect(ann.data).toEqual({ words: [{ mine: 3 }, { mine: null }] })
      const bob = await query('{ words { mine } }', { 'x-user': 'bob' })
      expect(bob.data).toEqual({ words: [{ mine: 3 }, { mine: null }] })
    }
  )

  it('warns of marks on them where Nest calls no guards for them', async () => {
    const warnings = warningsOf('HEADGATE_UNREAD_LIMIT')
    await serve([])
    const told = await warnings.end()
    expect(told).toHaveLength(2)
    expect(told.join()).toMatch(/Words\.marked.*fieldResolverEnhancers.*Words\.mine/)
  })

  it('warns of none where it calls them', async () => {
    const warnings = warningsOf('HEADGATE_UNREAD_LIMIT')
    await serve(['guards'])
    expect(await warnings.end()).toEqual([])
  })
})
