import 'reflect-metadata'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  type CanActivate,
  type INestApplication,
  type INestMicroservice,
  Module,
  type Type
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ClientTCP, type MicroserviceOptions, type TcpSocket, Transport } from '@nestjs/microservices'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { firstValueFrom } from 'rxjs'
import { RateLimitModule, type RateLimitModuleOptions } from '../../../src/nest/index.js'

/** The ways in which Nest serves messages of TCP: alone, or beside HTTP. */
export const kinds = ['alone', 'beside express', 'beside fastify', 'beside express, with its config'] as const
export type Kind = (typeof kinds)[number]

export interface ServiceSpec {
  readonly controllers: readonly Type[]
  readonly options?: RateLimitModuleOptions | undefined
  /** Global guards, of messages too where a service has the application's config. */
  readonly guards?: readonly CanActivate[]
}

/** What a client is told of a denial. */
export interface Failure {
  readonly status?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly retryAfter?: unknown
}

export interface Client {
  /** What a message is answered, or the error that it fails with. */
  ask(pattern: string, data?: unknown): Promise<{ readonly data?: unknown; readonly error?: Failure }>
  emit(pattern: string, data?: unknown): Promise<void>
}

export interface Service {
  /** Where it serves HTTP; undefined for one that is alone. */
  readonly url: string | undefined
  connect(from?: string): Client
  close(): Promise<void>
}

export async function service(kind: Kind, spec: ServiceSpec): Promise<Service> {
  const port = await freePort()
  const options = { transport: Transport.TCP, options: { host: '127.0.0.1', port } } as const
  const app = await (kind === 'alone' ? alone(spec, options) : beside(kind, spec, options))
  const clients: ClientTCP[] = []
  return {
    url: 'getHttpServer' in app ? urlOf(app) : undefined,
    connect(from) {
      const client = new ClientFrom(port, from)
      clients.push(client)
      return {
        ask: (pattern, data = {}) =>
          firstValueFrom(client.send<unknown>(pattern, data)).then(
            (answer) => ({ data: answer }),
            (error: Failure) => ({ error })
          ),
        emit: async (pattern, data = {}) =>
          void (await firstValueFrom(client.emit(pattern, data), { defaultValue: undefined }))
      }
    },
    async close() {
      for (const client of clients) await client.close()
      await app.close()
    }
  }
}

async function alone(spec: ServiceSpec, options: MicroserviceOptions): Promise<INestMicroservice> {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleOf(spec), {
    ...options,
    logger: false,
    abortOnError: false
  } as never)
  app.useGlobalGuards(...(spec.guards ?? []))
  await app.listen()
  return app
}

async function beside(
  kind: Kind,
  spec: ServiceSpec,
  options: MicroserviceOptions
): Promise<INestApplication> {
  const created = { logger: false, abortOnError: false } as const
  const root = moduleOf(spec)
  const app = await (kind === 'beside fastify'
    ? NestFactory.create(root, new FastifyAdapter(), created)
    : NestFactory.create(root, created))
  app.useGlobalGuards(...(spec.guards ?? []))
  app.connectMicroservice<MicroserviceOptions>(options, { inheritAppConfig: kind.endsWith('config') })
  await app.startAllMicroservices()
  await app.listen(0, '127.0.0.1')
  return app
}

function moduleOf({ controllers, options }: ServiceSpec): Type {
  class Root {}
  const imports = options === undefined ? [] : [RateLimitModule.forRoot(options)]
  Module({ imports, controllers: [...controllers] })(Root)
  return Root
}

function urlOf(app: INestApplication): string {
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A client of TCP that connects from an address of this machine. */
class ClientFrom extends ClientTCP {
  readonly #from: string

  constructor(port: number, from = '127.0.0.1') {
    super({ host: '127.0.0.1', port })
    this.#from = from
  }

  override createSocket(): TcpSocket {
    const made = super.createSocket()
    const socket = made.netSocket as Socket
    const connect = socket.connect.bind(socket) as (options: object) => Socket
    socket.connect = ((port: number, host: string) =>
      connect({ port, host, localAddress: this.#from })) as typeof socket.connect
    return made
  }
}
