import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { type DynamicModule, type INestApplication, Module, type Provider, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type GqlModuleOptions, GraphQLModule } from '@nestjs/graphql'
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { RateLimitModule, type RateLimitModuleOptions } from '../../../src/nest/index.js'

export const drivers = ['apollo over express', 'apollo over fastify', 'mercurius over fastify'] as const
export type Driver = (typeof drivers)[number]

/** A server to be built. */
export interface GraphqlSpec {
  readonly typeDefs: string
  readonly resolvers: readonly Provider[]
  /** Options of the module; none for an application without it. */
  readonly options?: RateLimitModuleOptions
  /** Makes the context; `'full'` has the request and the response, `'request'` what the driver gives by itself. */
  readonly context?: 'request' | 'full' | ((...args: never[]) => unknown)
  /** More options of GraphQL's module. */
  readonly graphql?: object
  readonly controllers?: readonly Type[]
  readonly trust?: string[]
  setUp?(app: INestApplication): void
}

export interface GraphqlError {
  readonly message: string
  readonly path?: readonly unknown[]
  readonly extensions?: { readonly code?: string; readonly status?: number; readonly retryAfter?: number }
}

/** What a query was answered. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly data: Record<string, unknown> | null | undefined
  readonly errors: readonly GraphqlError[]
}

/** A server that runs. */
export interface GraphqlServer {
  readonly url: string
  readonly app: INestApplication
  query(query: string, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export async function graphqlServer(driver: Driver, spec: GraphqlSpec): Promise<GraphqlServer> {
  class Root {}
  Module({
    imports: [
      graphqlModule(driver, spec),
      ...(spec.options === undefined ? [] : [RateLimitModule.forRoot(spec.options)])
    ],
    controllers: [...(spec.controllers ?? [])],
    providers: [...spec.resolvers]
  })(Root)
  const app = await NestFactory.create(Root, adapterOf(driver, spec), { logger: false, abortOnError: false })
  try {
    spec.setUp?.(app)
    await app.listen(0, '127.0.0.1')
  } catch (error) {
    await app.close()
    throw error
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return { url, app, query: (query, headers) => ask(url, query, headers), close: () => app.close() }
}

function adapterOf(driver: Driver, { trust }: GraphqlSpec): ExpressAdapter | FastifyAdapter {
  if (driver !== 'apollo over express') return new FastifyAdapter(trust ? { trustProxy: trust } : {})
  const adapter = new ExpressAdapter()
  if (trust) adapter.set('trust proxy', trust)
  return adapter
}

function graphqlModule(driver: Driver, { typeDefs, context, graphql }: GraphqlSpec): DynamicModule {
  const made = typeof context === 'function' ? context : context === 'full' ? fullContext(driver) : undefined
  const options = { typeDefs, ...(made === undefined ? null : { context: made }), ...graphql }
  if (driver === 'mercurius over fastify')
    return GraphQLModule.forRoot<MercuriusDriverConfig & GqlModuleOptions>({
      driver: MercuriusDriver,
      graphiql: false,
      ...options
    } as never)
  return GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    playground: false,
    ...options
  } as never)
}

function fullContext(driver: Driver): (...args: never[]) => unknown {
  if (driver === 'apollo over express')
    return ({ req, res }: { req: unknown; res: unknown }) => ({ req, res })
  return (req: unknown, res: unknown) => ({ req, res })
}

async function ask(url: string, query: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query })
  })
  const body = (await response.json()) as { data?: Record<string, unknown>; errors?: GraphqlError[] }
  return { status: response.status, headers: response.headers, data: body.data, errors: body.errors ?? [] }
}
