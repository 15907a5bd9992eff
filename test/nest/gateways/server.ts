import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { type INestApplication, Module, type Provider } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { BaseWsExceptionFilter } from '@nestjs/websockets'
import { io } from 'socket.io-client'
import WebSocket from 'ws'
import { RateLimitModule, type RateLimitModuleOptions } from '../../../src/nest/index.js'

/** The WebSocket adapters of Nest, over each of its platforms. */
const adapters = [
  { library: 'ws', platform: 'express' },
  { library: 'ws', platform: 'fastify' },
  { library: 'socket.io', platform: 'express' },
  { library: 'socket.io', platform: 'fastify' }
] as const
export type Kind = (typeof adapters)[number]

/** Before version 12 Nest tells no client of `ws` of any exception, so that it waits for its answer for ever. */
const tellsAll = 'emitMessage' in BaseWsExceptionFilter.prototype

/** Those whose clients are told of denials. */
export const kinds: readonly Kind[] = adapters.filter(({ library }) => tellsAll || library !== 'ws')

export interface GatewaySpec {
  readonly gateways: readonly Provider[]
  readonly options?: RateLimitModuleOptions
  /** Addresses of proxies that the platform trusts. */
  readonly trust?: string[]
}

/** What a message was answered. */
export interface Reply {
  readonly event: string
  readonly data: unknown
}

/** How a client connects: from which address of this machine, with which headers. */
export interface Handshake {
  readonly from?: string
  readonly headers?: Record<string, string>
}

export interface Client {
  /** Sends a message, and waits for what comes back next. */
  ask(event: string, data?: unknown): Promise<Reply>
  close(): void
}

export interface GatewayServer {
  readonly url: string
  connect(handshake?: Handshake): Promise<Client>
  close(): Promise<void>
}

export async function gatewayServer(kind: Kind, spec: GatewaySpec): Promise<GatewayServer> {
  class Root {}
  const imports = spec.options === undefined ? [] : [RateLimitModule.forRoot(spec.options)]
  Module({ imports, providers: [...spec.gateways] })(Root)
  const app = await NestFactory.create(Root, platformOf(kind, spec.trust), {
    logger: false,
    abortOnError: false
  })
  app.useWebSocketAdapter(kind.library === 'ws' ? new WsAdapter(app) : new IoAdapter(app))
  await listen(app)
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const clients: Client[] = []
  return {
    url,
    async connect(handshake = {}) {
      const client = await (kind.library === 'ws' ? connectWs : connectIo)(url, handshake)
      clients.push(client)
      return client
    },
    async close() {
      for (const client of clients) client.close()
      await app.close()
    }
  }
}

function platformOf({ platform }: Kind, trust?: string[]): ExpressAdapter | FastifyAdapter {
  if (platform === 'fastify') return new FastifyAdapter(trust ? { trustProxy: trust } : {})
  const adapter = new ExpressAdapter()
  if (trust) adapter.set('trust proxy', trust)
  return adapter
}

async function listen(app: INestApplication): Promise<void> {
  try {
    await app.listen(0, '127.0.0.1')
  } catch (error) {
    await app.close()
    throw error
  }
}

/** Gives each answer that comes in to who waits longest. */
function mailbox() {
  const waiting: ((reply: Reply) => void)[] = []
  return {
    next: () => new Promise<Reply>((resolve) => void waiting.push(resolve)),
    put: (reply: Reply) => waiting.shift()?.(reply)
  }
}

async function connectWs(url: string, { from, headers = {} }: Handshake): Promise<Client> {
  const options = { headers, ...(from && { localAddress: from }) }
  const socket = new WebSocket(url.replace('http', 'ws'), options)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const box = mailbox()
  socket.on('message', (text) => box.put(JSON.parse(String(text)) as Reply))
  return {
    ask(event, data) {
      socket.send(JSON.stringify({ event, data }))
      return box.next()
    },
    close: () => socket.close()
  }
}

async function connectIo(url: string, { from, headers = {} }: Handshake): Promise<Client> {
  const options = { extraHeaders: headers, ...(from && { localAddress: from }) }
  const socket = io(url, { ...options, transports: ['websocket'], forceNew: true, reconnection: false })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject))
  const box = mailbox()
  socket.onAny((event: string, data: unknown) => box.put({ event, data }))
  return {
    ask(event, data) {
      socket.emit(event, data)
      return box.next()
    },
    close: () => void socket.disconnect()
  }
}
