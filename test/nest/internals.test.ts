import { createServer } from 'node:http'
import { Socket } from 'node:net'
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  type NestInterceptor,
  UseGuards
} from '@nestjs/common'
import {
  APP_FILTER,
  APP_GUARD,
  ApplicationConfig,
  HttpAdapterHost,
  ModulesContainer,
  Reflector
} from '@nestjs/core'
import { MessagePattern, TcpContext } from '@nestjs/microservices'
import { Test } from '@nestjs/testing'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import {
  aroundNotFound,
  classesOf,
  guardsOf,
  instancesOfGuard,
  marks,
  senderOf,
  surround,
  transportSenderOf
} from '../../src/nest/internals.js'
import { nestApps, platforms } from './app.js'

const run = nestApps()

@Injectable()
class Nobody {
  canActivate(): boolean {
    return true
  }
}

@Controller()
@UseGuards(Nobody)
class Pages {
  @Get()
  page(): string {
    return 'ok'
  }

  @Get('fails')
  @UseGuards(new Nobody())
  fails(): never {
    throw new HttpException('no', 418)
  }

  @MessagePattern('sum')
  sum(): number {
    return 0
  }
}

@WebSocketGateway()
class Events {
  @SubscribeMessage('event')
  event(): void {}
}

/** What surrounds handlers, and tells what it was called for. */
function surroundings() {
  const seen: string[] = []
  const guard = (name: string) => ({ canActivate: () => seen.push(name) > 0 })
  const interceptor: NestInterceptor = {
    intercept(_context: ExecutionContext, next: CallHandler) {
      seen.push('interceptor')
      return next.handle()
    }
  }
  const filter = (name: string) => ({
    catch(exception: HttpException, host: ExecutionContext) {
      seen.push(name)
      const response = host.switchToHttp().getResponse()
      const status = exception.getStatus()
      if (typeof response.code === 'function') response.code(status).send('caught')
      else response.status(status).send('caught')
    }
  })
  return { seen, guard, interceptor, filter }
}

describe('what we rely on of Nest', () => {
  it.each(platforms)(
    'global guards, interceptors and filters are read after providers are made (%s)',
    async (platform) => {
      const { seen, guard, interceptor, filter } = surroundings()
      const { statuses } = await run(platform, {
        controllers: [Pages],
        providers: [
          {
            provide: 'ours',
            inject: [ApplicationConfig],
            useFactory: (config: ApplicationConfig) =>
              surround(config, {
                guard: guard('our guard'),
                interceptor,
                filter: filter('our filter') as never
              })
          },
          { provide: APP_GUARD, useFactory: () => guard('their guard') },
          { provide: APP_FILTER, useFactory: () => filter('their filter') }
        ]
      })
      expect(await statuses('/fails')).toEqual([418])
      expect(seen).toEqual(['our guard', 'their guard', 'interceptor', 'their filter'])
    }
  )

  it('modules tell the classes of controllers and providers', async () => {
    const { app } = await run('express', {
      controllers: [Pages],
      providers: [Nobody, { provide: 'made', useFactory: () => new Nobody() }]
    })
    const classes = classesOf(app.get(ModulesContainer))
    expect([classes.get(Pages), classes.get(Nobody)]).toEqual([true, false])
  })

  it('modules tell what stands for a guard, as it is and in the place of a test', async () => {
    const testing = () => Test.createTestingModule({ controllers: [Pages], providers: [Nobody] })
    const found = async (module: ReturnType<typeof testing>) =>
      instancesOfGuard((await module.compile()).get(ModulesContainer), Nobody)
    expect((await found(testing())).map((one) => one.constructor)).toEqual([Nobody, Nobody])
    const other = { canActivate: () => false }
    expect(await found(testing().overrideGuard(Nobody).useValue(other))).toContain(other)
    expect(await found(testing().overrideProvider(Nobody).useValue(other))).toContain(other)
  })

  it('decorators leave the marks that we know', () => {
    const reflector = new Reflector()
    const marked = (mark: string, target: unknown) => reflector.get(mark, target as never) !== undefined
    expect({
      route: marked(marks.route, Pages.prototype.page),
      pattern: marked(marks.pattern, Pages.prototype.sum),
      gateway: marked(marks.gateway, Events),
      subscription: marked(marks.subscription, Events.prototype.event)
    }).toEqual({ route: true, pattern: true, gateway: true, subscription: true })
    expect(marked(marks.pattern, Pages.prototype.page)).toBe(false)
  })

  it('guards of classes and methods can be read', () => {
    const reflector = new Reflector()
    expect(guardsOf(reflector, Pages)).toEqual([Nobody])
    expect(guardsOf(reflector, Pages.prototype.fails)).toEqual([expect.any(Nobody)])
    expect(guardsOf(reflector, Pages.prototype.page)).toEqual([])
  })

  it.each(platforms)('the handler of unknown paths is given to the adapter (%s)', async (platform) => {
    let isLimited!: () => boolean
    const { app, statuses } = await run(platform, {
      controllers: [Pages],
      set: (made) => {
        isLimited = aroundNotFound(
          made.get(HttpAdapterHost),
          () => () => {
            throw new HttpException('limited', 429)
          },
          () => {}
        )
        expect(isLimited()).toBe(false)
      }
    })
    expect(app.get(HttpAdapterHost).httpAdapter.getType()).toBe(platform)
    expect(isLimited()).toBe(true)
    expect(await statuses('/', '/nowhere')).toEqual([200, 429])
  })

  it('a context without a server has no unknown paths', async () => {
    const testing = await Test.createTestingModule({ controllers: [Pages] }).compile()
    await testing.init()
    const isLimited = aroundNotFound(
      testing.get(HttpAdapterHost),
      (handler) => handler,
      () => {}
    )
    expect(isLimited()).toBe(true)
    await testing.close()
  })
})

describe('what we rely on of transports', () => {
  it('a socket of `ws` keeps its connection as `_socket`', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const found = new Promise((resolve) => sockets.once('connection', (client) => resolve(senderOf(client))))
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}`)
    expect(await found).toMatchObject({ socket: { remoteAddress: '127.0.0.1' }, headers: {} })
    client.on('error', () => {}).terminate()
    sockets.close()
    server.close()
  })

  it('the context of TCP leads to its connection', () => {
    const connection = new Socket()
    for (const name of ['netSocket', 'socket']) {
      const context = new TcpContext([{ [name]: connection }, 'sum'] as never)
      expect(transportSenderOf(context, []).socket).toBe(connection)
    }
  })

  it('gRPC names the peer of a call', () => {
    const call = { getPeer: () => '203.0.113.1:5000' }
    expect(transportSenderOf({}, [{}, {}, call]).socket).toEqual({ remoteAddress: '203.0.113.1:5000' })
  })

  it('a message without what we rely on has no address', () => {
    for (const client of [undefined, null, {}, 'text']) expect(senderOf(client).socket).toBe(undefined)
    expect(transportSenderOf(undefined, []).socket).toBe(undefined)
  })
})
